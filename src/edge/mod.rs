//! What stands between a client and this process: proxies that name the client, browsers that run pages of other
//! websites, what clients compress, in which charset they declare it, and what they mean by a path that does not exist.
//! Pure decisions on addresses, paths and headers, for the gateway and the analysis server alike; whoever asks writes
//! the answer.

mod charset;
pub(crate) mod client;
mod content_coding;
pub(crate) mod cors;
pub(crate) mod meant_path;

pub(crate) use charset::{is_common_type, names_another_charset};
pub(crate) use client::{client, is_encrypted};
pub(crate) use content_coding::{Coding, Decoding, Undecodable, UnknownCoding};

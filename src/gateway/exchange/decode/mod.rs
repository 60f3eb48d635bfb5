//! Compressed bodies: of answers, as far as they can be read, for the record; of requests, to the letter, for the
//! checks.

mod answer;
mod request;

pub(super) use answer::{Decoded, decode};
pub(super) use request::decoded;

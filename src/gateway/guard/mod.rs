//! Closes gaps of pingora towards clients: slow and malformed requests, idle HTTP/2 frames. Each file names the gap it
//! closes.

mod chunks;
mod client_guard;
mod guarded_stream;
mod http1;
mod http2;
mod linger;
mod long_head;
mod refused_head;
mod slow_client;
mod small_chunks;

pub(super) use chunks::MalformedChunk;
pub(super) use client_guard::ClientGuard;
pub(crate) use client_guard::SMALL_READ;
pub(super) use guarded_stream::GuardedStream;
pub(super) use http1::{BodyFraming, ParsedHead};
pub(crate) use linger::{LINGER_BYTES, LINGER_SILENCE, LINGER_TIME, STREAM_LINGER};
pub(crate) use slow_client::BodyPace;
pub(super) use slow_client::is_too_slow;

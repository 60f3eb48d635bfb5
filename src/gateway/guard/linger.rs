//! Bounds of the lingering close (RFC 9112 §9.6): what is read and dropped of a request that was answered
//! before it was read. Closing with unread bytes would reset the connection, and a client that is still
//! sending could lose the answer. Pingora and hyper both close at once.

use std::time::Duration;

/// Bytes that are dropped at most.
pub(crate) const LINGER_BYTES: usize = 64 << 20;
/// The longest silence of the client meanwhile.
pub(crate) const LINGER_SILENCE: Duration = Duration::from_secs(1);
/// The longest time in all.
pub(crate) const LINGER_TIME: Duration = Duration::from_secs(5);
/// The same for a stream of HTTP/2, whose connection stays open.
pub(crate) const STREAM_LINGER: Duration = Duration::from_millis(100);

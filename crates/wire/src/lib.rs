//! Formats on the wire: the JSON scanner and event streams. No runtime, no sockets, no clock; functions take
//! bytes and return bytes, spans or text.

pub mod json;
pub mod sse;

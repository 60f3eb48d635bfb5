//! Formats on the wire: the JSON scanner, event streams, and the APIs of model servers. No runtime, no sockets, no clock; functions take
//! bytes and return bytes, spans or text.

pub mod json;
pub mod protocol;
pub mod sse;

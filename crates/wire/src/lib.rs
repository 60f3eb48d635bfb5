//! What travels as bytes: the JSON scanner and event streams. No runtime, no socket, no clock; every
//! function takes bytes and gives back bytes, spans or text.

pub mod json;
pub mod sse;

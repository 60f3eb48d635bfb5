//! HTTP/1.1 towards a model server, for monitored calls.
//!
//! Pingora's client keeps a buffer of 64 KiB for each answer, however long it is silent, and takes a request head
//! apart that is only to be written. Here a head is bytes, and what is read is copied out of a buffer that all
//! connections of a thread share.

mod body;
mod chunks;
mod early_answer;
mod reading;
mod response;
mod session;

pub(super) use reading::is_idle;
pub(crate) use session::{Http1Session, WriteFailure, Written};

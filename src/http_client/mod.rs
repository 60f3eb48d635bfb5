//! The one HTTP client of the program: connections, TLS, names, bounds of size and time, and the circuit
//! breaker. What is asked and what an answer means is the caller's. The object store of attachments has
//! a client of its own in `monitor_store`, behind the trait that its crate asks for.

mod circuit_breaker;
mod client;
mod tls;

pub use circuit_breaker::{
    Admission, Attempt, BreakerSettings, CircuitBreaker, LateFailure, Transition,
};
pub use client::{Answer, Body, ClientError, HttpClient, UnreadAnswer, bearer, whole};
pub use tls::{ReloadableTls, TlsMaterial};

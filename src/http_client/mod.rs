//! The one HTTP client of the program: connections, TLS, name resolution, limits of size and time, and the
//! circuit breaker. Callers make the requests and interpret the answers. The object store of attachments has
//! a client of its own in `monitor_store`, behind the trait that its crate requires.

mod circuit_breaker;
mod client;
mod connector;
pub(crate) mod public_networks;
mod stream;
mod tls;

pub use circuit_breaker::{
    Admission, Attempt, BreakerSettings, CircuitBreaker, LateFailure, Transition,
};
pub use client::{Answer, Body, ClientError, HttpClient, UnreadAnswer, bearer, in_parts, whole};
pub use stream::{ByteStream, StreamClient};
pub use tls::{ReloadableTls, TlsMaterial};

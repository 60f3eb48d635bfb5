//! Client connections: listeners, their limits, and the protocol that each connection speaks.

mod clear_text;
pub(super) mod client_places;
mod client_socket;
mod connection;
pub(super) mod connection_limit;
mod http1;
mod listener;
mod proxy_protocol;
mod runtime_probe;
mod tls_bytes;

pub use client_places::ClientPlaces;
pub use connection::ClientConnections;
pub use connection_limit::ConnectionLimit;
pub use listener::{ConnectionHandler, Listener, ListenerService, Serving};
pub use runtime_probe::RuntimeProbe;

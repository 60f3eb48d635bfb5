//! The gateway (§4.1): one pingora `ProxyHttp` with two kinds of route. `proxy.rs` holds its phases,
//! `exchange/` the monitored call.

mod accepted_keys;
pub mod attachments;
mod auth;
mod body_type;
mod call_trace;
mod callers;
mod context;
pub mod docs;
mod error;
mod exchange;
mod guard;
mod head_memory;
mod headers;
mod inspector;
mod limits;
mod listen;
mod proxy;
mod request;
mod respond;
mod route;
mod state;
mod upstream;

pub(crate) use guard::{BodyPace, LINGER_BYTES, LINGER_SILENCE, LINGER_TIME};
pub use inspector::{Find, Inspector};
pub use limits::ClientHeads;
pub(crate) use limits::{MemoryBudget, MemoryFigures, MemoryReservation};
pub use listen::{
    ClientConnections, ClientPlaces, ConnectionHandler, ConnectionLimit, Listener, ListenerService,
    RuntimeProbe, Serving,
};
pub use proxy::Gateway;
pub use state::{GatewayConfig, GatewayState, Monitoring, Snapshot};
pub use upstream::{UpstreamStatus, UpstreamTlsFiles};

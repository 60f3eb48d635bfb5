//! The model servers: which one a call goes to, its addresses, connections, TLS files and health.

pub(super) mod attempts;
mod group;
mod health;
pub(super) mod health_check;
mod http1;
mod idle;
mod pool;
mod resolver;
mod server;
mod session;
mod tls;
pub(super) mod transparent;

pub use group::UpstreamStatus;
pub use tls::UpstreamTls;

pub(super) use group::{TriedServers, UpstreamGroup};
pub(super) use http1::Written;
pub(super) use pool::UpstreamConnection;
pub(super) use server::{ModelServer, UpstreamConfig};
pub(super) use session::{UpstreamSession, WireHead};

//! The model servers: which one a call goes to, its addresses, connections, TLS files and health.

pub(super) mod attempts;
mod group;
mod groups;
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
pub use tls::UpstreamTlsFiles;

pub(super) use group::TriedServers;
pub(super) use groups::{ChosenUpstream, GroupsConfig, UpstreamGroups};
pub(super) use http1::Written;
pub(super) use pool::UpstreamConnection;
pub(super) use server::ModelServer;
pub(super) use session::{UpstreamSession, WireHead};

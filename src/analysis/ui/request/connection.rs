//! What the listener and the router put into a request's extensions.

use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// The client of a request, also of one that a trusted proxy brings; set by the listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Its address; None on a socket that has none.
    pub address: Option<IpAddr>,
    /// Whether its connection is encrypted.
    pub is_tls: bool,
}

/// Turns true when the server stops; set by the listener, for answers that would otherwise not end.
#[derive(Clone, Debug)]
pub struct Stopping(pub watch::Receiver<bool>);

/// The address at which browsers reach the pages, if the configuration names it; set by the router.
#[derive(Clone)]
pub(crate) struct PublicUrl(pub(crate) Option<Arc<str>>);

/// Whether answers over TLS tell browsers to come by TLS only from then on; set by the router.
#[derive(Clone, Copy)]
pub(crate) struct StrictTransport(pub(crate) bool);

//! The listening sockets of one process: bound before anything starts, so that a port in use is an
//! error that names it, or taken over from the previous process. Every service accepts on these; none
//! binds by itself. `app::upgrade` hands them to the next process.

use crate::config::Listener;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that may wait to be accepted; the system has a limit of its own (net.core.somaxconn).
const WAITING: i32 = 4096;

/// The name by which two processes identify a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Label {
    /// gateway, analysis or operations.
    pub(crate) what: String,
    /// As in the configuration; its port may be 0.
    pub(crate) wanted: SocketAddr,
    /// The address the system bound, with its real port.
    pub(crate) bound: SocketAddr,
}

/// Sockets that listen.
#[derive(Clone, Default)]
pub(crate) struct Sockets {
    /// Received from the previous process and not claimed yet.
    inherited: Arc<Mutex<Vec<(Label, TcpListener)>>>,
    claimed: Arc<Mutex<Vec<(Label, TcpListener)>>>,
}

impl Sockets {
    /// With the sockets that another process has handed over.
    pub(crate) fn inherit(handed: Vec<(Label, OwnedFd)>) -> Self {
        let handed = handed.into_iter();
        let inherited = handed
            .map(|(label, socket)| (label, TcpListener::from(socket)))
            .collect();
        Self {
            inherited: Arc::new(Mutex::new(inherited)),
            claimed: Arc::default(),
        }
    }

    /// Listens on `wanted`, or claims the inherited socket that does; returns the address with its port.
    ///
    /// # Errors
    /// When the address cannot be listened on; the text names it.
    pub(crate) fn claim(&self, what: &str, wanted: SocketAddr) -> Result<SocketAddr> {
        let (bound, listener) = match self.take_inherited(what, wanted) {
            Some(taken) => taken,
            None => {
                let listener = TcpListener::bind(wanted).with_context(|| {
                    format!(
                        "{what}: cannot listen on {wanted}; stop what holds it or choose another address"
                    )
                })?;
                listener.set_nonblocking(true)?;
                // Again, with a longer queue than the library's.
                rustix::net::listen(&listener, WAITING)?;
                (listener.local_addr()?, listener)
            }
        };
        let label = Label {
            what: what.to_owned(),
            wanted,
            bound,
        };
        lock(&self.claimed).push((label, listener));
        Ok(bound)
    }

    /// Claims all addresses of a list.
    ///
    /// # Errors
    /// When an address cannot be listened on; the text names it.
    pub(crate) fn claim_all(&self, what: &str, listeners: &mut [Listener]) -> Result<()> {
        for listener in listeners {
            listener.address = self.claim(what, listener.address)?;
        }
        Ok(())
    }

    /// Closes the inherited sockets that this process does not use.
    pub(crate) fn close_unclaimed(&self) {
        lock(&self.inherited).clear();
    }

    /// A copy of the socket that listens on an address.
    ///
    /// # Errors
    /// When there is none, or the system has no descriptors left.
    pub(crate) fn copy(&self, bound: SocketAddr) -> Result<TcpListener> {
        let claimed = lock(&self.claimed);
        let found = claimed.iter().find(|(label, _)| label.bound == bound);
        let (_, listener) = found.with_context(|| format!("nobody listens on {bound}"))?;
        listener.try_clone().context("no descriptors left")
    }

    /// Copies of all sockets for the next process.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub(crate) fn copies(&self) -> Result<Vec<(Label, OwnedFd)>> {
        let claimed = lock(&self.claimed);
        let copies = claimed.iter().map(|(label, listener)| {
            let copy = listener.try_clone().context("no descriptors left")?;
            Ok((label.clone(), OwnedFd::from(copy)))
        });
        copies.collect()
    }

    /// Closes this process's copies: clients of a socket without an accept loop would wait forever.
    pub(crate) fn close(&self) {
        lock(&self.claimed).clear();
    }

    fn take_inherited(&self, what: &str, wanted: SocketAddr) -> Option<(SocketAddr, TcpListener)> {
        let mut inherited = lock(&self.inherited);
        let fits = |(label, _): &(Label, TcpListener)| {
            label.what == what && (label.wanted == wanted || label.bound == wanted)
        };
        let at = inherited.iter().position(fits)?;
        let (label, listener) = inherited.remove(at);
        Some((label.bound, listener))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ANY: &str = "127.0.0.1:0";

    #[test]
    fn a_socket_that_was_handed_over_is_taken_by_its_name_and_address_and_no_other() {
        let before = Sockets::default();
        let bound = before.claim("gateway", ANY.parse().unwrap()).unwrap();
        let after = Sockets::inherit(before.copies().unwrap());
        let other = after.claim("operations", ANY.parse().unwrap()).unwrap();
        assert_ne!(other, bound);
        assert_eq!(after.claim("gateway", bound).unwrap(), bound);
        assert!(after.claim("gateway", bound).is_err(), "taken twice");
    }

    #[test]
    fn a_port_in_use_is_an_error_that_names_it() {
        let holder = TcpListener::bind(ANY).unwrap();
        let address = holder.local_addr().unwrap();
        let error = Sockets::default().claim("gateway", address).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("gateway") && text.contains(&address.to_string()));
    }

    #[test]
    fn a_socket_that_nobody_wants_is_closed() {
        let before = Sockets::default();
        let bound = before.claim("gateway", ANY.parse().unwrap()).unwrap();
        let after = Sockets::inherit(before.copies().unwrap());
        before.close();
        after.close_unclaimed();
        assert!(std::net::TcpStream::connect(bound).is_err());
    }
}

//! What all clients of the analysis API and the web UI may take together (`limits.buffered_bytes`), and one
//! address of it (`limits.client_bytes`, `limits.client_connections`): memory for request bodies that arrive or
//! are being handled, and for answers that wait for their reader.

use crate::fair_queue::Tenant;
use crate::gateway::{MemoryBudget, MemoryReservation};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bounds of one address; an IPv6 network of 64 bits counts as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientBounds {
    pub(crate) bytes: usize,
    pub(crate) connections: usize,
}

/// What all clients have open.
pub(crate) struct ClientShares {
    memory: Arc<MemoryBudget>,
    bounds: ClientBounds,
    clients: Mutex<HashMap<IpAddr, Client>>,
}

/// What one address has open.
#[derive(Default)]
struct Client {
    connections: usize,
    bytes: usize,
}

/// One connection's part of its client's share, returned when it is dropped.
pub(super) struct ConnectionShare {
    shares: Arc<ClientShares>,
    client: IpAddr,
    reservation: MemoryReservation,
    bytes: usize,
}

impl ClientShares {
    /// The bytes of `memory` for all clients together.
    pub(crate) fn new(memory: Arc<MemoryBudget>, bounds: ClientBounds) -> Arc<Self> {
        Arc::new(Self {
            memory,
            bounds,
            clients: Mutex::default(),
        })
    }

    /// The share of a new connection; None where its client has too many.
    pub(super) fn connect(self: &Arc<Self>, address: Option<IpAddr>) -> Option<ConnectionShare> {
        let client = network(address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        let mut clients = self.lock();
        let open = clients.get(&client).map_or(0, |client| client.connections);
        if open >= self.bounds.connections {
            return None;
        }
        clients.entry(client).or_default().connections += 1;
        Some(ConnectionShare {
            shares: self.clone(),
            client,
            reservation: MemoryReservation::new(&self.memory, Tenant::new(&client, &()).holder),
            bytes: 0,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionShare {
    /// Reserves `bytes` more; false where the client, or all together, have none left at the moment.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        {
            let mut clients = self.shares.lock();
            let client = clients.entry(self.client).or_default();
            let sum = client.bytes.saturating_add(bytes);
            if sum > self.shares.bounds.bytes {
                return false;
            }
            client.bytes = sum;
        }
        self.bytes += bytes;
        if self.reservation.grow(bytes).is_ok() {
            return true;
        }
        self.bytes -= bytes;
        self.give_back(bytes);
        false
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns all of it.
    pub(super) fn release(&mut self) {
        if self.bytes > 0 {
            self.reservation.release();
            let bytes = std::mem::take(&mut self.bytes);
            self.give_back(bytes);
        }
    }

    fn give_back(&self, bytes: usize) {
        if let Some(client) = self.shares.lock().get_mut(&self.client) {
            client.bytes = client.bytes.saturating_sub(bytes);
        }
    }
}

impl Drop for ConnectionShare {
    fn drop(&mut self) {
        self.release();
        let mut clients = self.shares.lock();
        match clients.get_mut(&self.client) {
            Some(client) if client.connections > 1 => client.connections -= 1,
            _ => drop(clients.remove(&self.client)),
        }
    }
}

/// Whoever has one IPv6 address usually has a network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shares(most: u64, bytes: usize, connections: usize) -> Arc<ClientShares> {
        let bounds = ClientBounds { bytes, connections };
        ClientShares::new(MemoryBudget::unmeasured(most), bounds)
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_client_has_its_share_and_all_together_have_theirs() {
        let shares = shares(200, 60, 9);
        let mut one = shares.connect(address("10.0.0.1")).unwrap();
        let mut same = shares.connect(address("::ffff:10.0.0.1")).unwrap();
        let mut other = shares.connect(address("10.0.0.2")).unwrap();
        let mut third = shares.connect(address("10.0.0.3")).unwrap();
        let mut fourth = shares.connect(address("10.0.0.4")).unwrap();
        assert!(one.grow(40) && !same.grow(21) && same.grow(20));
        drop(one);
        assert!(same.grow(40) && !same.grow(1), "60 of one client");
        assert!(other.grow(60) && third.grow(60));
        assert!(fourth.grow(20) && !fourth.grow(1), "200 in all");
        same.release();
        assert!(fourth.grow(20) && !other.grow(1));
        drop((third, fourth));
        drop((same, other));
        assert!(shares.lock().is_empty());
        let mut again = shares.connect(address("10.0.0.5")).unwrap();
        assert!(again.grow(60), "everything was returned");
    }

    #[test]
    fn connections_are_counted_by_address_and_by_network_of_ipv6() {
        let shares = shares(100, 60, 2);
        let first = shares.connect(address("2001:db8::1")).unwrap();
        let _second = shares.connect(address("2001:db8::ffff:1")).unwrap();
        assert!(shares.connect(address("2001:db8::2")).is_none());
        let _other = shares.connect(address("2001:db8:0:1::1")).unwrap();
        drop(first);
        assert!(shares.connect(address("2001:db8::2")).is_some());
    }
}

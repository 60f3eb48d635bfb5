//! What all clients of the analysis API and the web UI may take together (`limits.buffered_bytes`), and one
//! client of it: memory for request bodies that arrive or are being handled, and for answers that wait for their
//! reader; connections. A client is an address (`limits.client_bytes`, `limits.client_connections`) until a
//! request brings an access token for messages; from then on its connection counts for the token, which may have
//! more: a gateway calls for many from one address.

use crate::fair_queue::{Tenant, network};
use crate::gateway::{MemoryBudget, MemoryReservation};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Connections of one token, and those of one address that wait, in those of one address.
const TIMES_AS_MANY: usize = 8;
/// The most connections of one address that wait for the analysis API.
pub(super) const MOST_WAITING: usize = 64;
/// One token may have one of so many parts of the memory, and at least what one address may have.
const PARTS_OF_A_TOKEN: usize = 2;

/// The bounds of one client; an IPv6 network of 64 bits counts as one address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientBounds {
    pub(crate) bytes: usize,
    pub(crate) connections: usize,
}

/// What all clients have open.
pub(crate) struct ClientShares {
    memory: Arc<MemoryBudget>,
    of_address: ClientBounds,
    of_token: ClientBounds,
    /// A trusted proxy, or a client behind one: it bounds their connections itself.
    of_proxied: ClientBounds,
    /// Connections of one address that wait.
    most_waiting: usize,
    clients: Mutex<HashMap<Client, Open>>,
}

/// Whom a connection counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client {
    Address(IpAddr),
    /// A trusted proxy, which has the connections of many clients.
    Proxy(IpAddr),
    /// A client that a trusted proxy names.
    BehindProxy(IpAddr),
    Token(u64),
}

/// What one client has open.
#[derive(Default)]
struct Open {
    connections: usize,
    /// Connections that wait for a place among them.
    waiting: usize,
    bytes: usize,
    left: Arc<Notify>,
}

/// One connection's part of its client's share, returned when it is dropped.
pub(super) struct ConnectionShare {
    shares: Arc<ClientShares>,
    client: Client,
    reservation: MemoryReservation,
    bytes: usize,
}

impl ClientShares {
    /// The bytes of `memory` for all clients together; so many connections of one address wait.
    pub(crate) fn new(
        memory: Arc<MemoryBudget>,
        of_address: ClientBounds,
        most_waiting: usize,
    ) -> Arc<Self> {
        let part = memory.limit_bytes() / PARTS_OF_A_TOKEN;
        let of_token = ClientBounds {
            bytes: part.max(of_address.bytes),
            connections: of_address.connections.saturating_mul(TIMES_AS_MANY),
        };
        Arc::new(Self {
            of_address,
            of_token,
            most_waiting: most_waiting.min(of_token.connections),
            of_proxied: ClientBounds {
                connections: usize::MAX,
                ..of_address
            },
            memory,
            clients: Mutex::default(),
        })
    }

    /// The memory that all clients share.
    pub(super) fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    /// The share of a new connection of a trusted proxy.
    pub(super) fn connect_proxy(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionShare> {
        self.try_connect(Client::Proxy(network(address)))
    }

    /// The share of a new connection. Where its client has too many, it waits for so long until one of them leaves,
    /// or counts for a token; None where too many wait already.
    pub(super) async fn connect(
        self: &Arc<Self>,
        address: Option<IpAddr>,
        patience: Duration,
    ) -> Option<ConnectionShare> {
        let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let client = Client::Address(network(address));
        if !self.has_waiting(client)
            && let Some(share) = self.try_connect(client)
        {
            return Some(share);
        }
        let waiting = Waiting::enter(self, client)?;
        let connecting = async {
            loop {
                waiting.left.notified().await;
                if let Some(share) = self.try_connect(client) {
                    return share;
                }
            }
        };
        timeout(patience, connecting).await.ok()
    }

    fn has_waiting(&self, client: Client) -> bool {
        let clients = self.lock();
        clients.get(&client).is_some_and(|open| open.waiting > 0)
    }

    fn try_connect(self: &Arc<Self>, client: Client) -> Option<ConnectionShare> {
        self.enter(client).then(|| ConnectionShare {
            shares: self.clone(),
            client,
            reservation: self.reservation(client),
            bytes: 0,
        })
    }

    /// Counts one more connection of a client; false where it has too many.
    fn enter(&self, client: Client) -> bool {
        let mut clients = self.lock();
        let open = clients.entry(client).or_default();
        let has_place = open.connections < self.bounds(client).connections;
        open.connections += usize::from(has_place);
        has_place
    }

    /// A connection leaves its client.
    fn leave(&self, client: Client) {
        let mut clients = self.lock();
        let Some(open) = clients.get_mut(&client) else {
            return;
        };
        open.connections -= 1;
        open.left.notify_one();
        forget_idle(&mut clients, client);
    }

    fn bounds(&self, client: Client) -> ClientBounds {
        match client {
            Client::Address(_) => self.of_address,
            Client::Proxy(_) | Client::BehindProxy(_) => self.of_proxied,
            Client::Token(_) => self.of_token,
        }
    }

    fn reservation(&self, client: Client) -> MemoryReservation {
        MemoryReservation::new(&self.memory, Tenant::new(&client, &()).holder)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Client, Open>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_idle(clients: &mut HashMap<Client, Open>, client: Client) {
    let open = clients.get(&client);
    if open.is_some_and(|open| open.connections + open.waiting == 0) {
        clients.remove(&client);
    }
}

/// A connection that waits for its place, until this is dropped.
struct Waiting<'a> {
    shares: &'a ClientShares,
    client: Client,
    left: Arc<Notify>,
}

impl<'a> Waiting<'a> {
    /// None where too many wait already.
    fn enter(shares: &'a ClientShares, client: Client) -> Option<Self> {
        let mut clients = shares.lock();
        let open = clients.entry(client).or_default();
        if open.waiting >= shares.most_waiting {
            return None;
        }
        open.waiting += 1;
        // One that left before this was counted woke nobody; others that wait were woken, and wake the next.
        if open.waiting == 1 && open.connections < shares.bounds(client).connections {
            open.left.notify_one();
        }
        Some(Self {
            shares,
            client,
            left: open.left.clone(),
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut clients = self.shares.lock();
        if let Some(open) = clients.get_mut(&self.client) {
            open.waiting -= 1;
            // The one that was woken may not have taken the place, or there are two.
            if open.waiting > 0 && open.connections < self.shares.bounds(self.client).connections {
                open.left.notify_one();
            }
        }
        forget_idle(&mut clients, self.client);
    }
}

impl ConnectionShare {
    /// A trusted proxy brings a request of this client: what follows counts for it, until the request brings a token.
    pub(super) fn count_for_client(&mut self, address: IpAddr) {
        self.release();
        self.pass_to(Client::BehindProxy(network(address)));
    }

    /// A request has brought this token: what follows counts for it, if it may have one more connection. What
    /// is in memory of a request stays where it is counted.
    pub(super) fn count_for(&mut self, token: u64) {
        if self.bytes == 0 {
            self.pass_to(Client::Token(token));
        }
    }

    /// Counts a connection that holds nothing for another client, if that may have one more.
    fn pass_to(&mut self, client: Client) {
        if self.client != client && self.shares.enter(client) {
            self.shares
                .leave(std::mem::replace(&mut self.client, client));
            self.reservation = self.shares.reservation(client);
        }
    }

    /// Reserves `bytes` more; false where the client, or all together, have none left at the moment.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        {
            let mut clients = self.shares.lock();
            let open = clients.entry(self.client).or_default();
            let sum = open.bytes.saturating_add(bytes);
            if sum > self.shares.bounds(self.client).bytes {
                return false;
            }
            open.bytes = sum;
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
        if let Some(open) = self.shares.lock().get_mut(&self.client) {
            open.bytes = open.bytes.saturating_sub(bytes);
        }
    }
}

impl Drop for ConnectionShare {
    fn drop(&mut self) {
        self.release();
        self.shares.leave(self.client);
    }
}

#[cfg(test)]
mod tests;

//! The memory of long request heads and of unfinished TLS records (`limits.client_bytes`). A head counts for its client's address until the
//! call's access key is known to be one of the gateway's; from then on it counts for the key, within
//! `limits.buffered_bytes` alone. It is given back when the call has ended: until then its values stay in memory.

use super::chunk_pace::ChunkPace;
use super::memory::{Full, MemoryBudget, MemoryReservation};
use crate::fair_queue::{connections_of, network};
use crate::observe::Exhausted;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A head up to this size is not counted: the connection's own buffers are as large.
pub(crate) const SHORT_HEAD: usize = 8 << 10;
/// A longer one is counted in steps of this size.
const STEP: usize = 16 << 10;

/// The memory that the heads of all clients take, and what comes before them.
pub struct ClientHeads {
    memory: Arc<MemoryBudget>,
    of_client: AtomicUsize,
    /// Bytes of each address that has some; an IPv6 network of 64 bits counts as one address.
    clients: Mutex<HashMap<IpAddr, usize>>,
    pace: ChunkPace,
}

/// The memory of one head, given back when it is dropped.
pub(crate) struct HeadShare {
    heads: Arc<ClientHeads>,
    /// The other end of the connection.
    peer: IpAddr,
    /// Whom the head counts for: the peer, or the client that it names.
    client: IpAddr,
    /// Bytes that count for the address.
    of_client: usize,
    bytes: usize,
    reservation: MemoryReservation,
}

impl ClientHeads {
    /// At most `of_client` bytes of `memory` for each address.
    pub(crate) fn new(memory: Arc<MemoryBudget>, of_client: u64) -> Arc<Self> {
        let heads = Self {
            memory,
            of_client: AtomicUsize::new(0),
            clients: Mutex::default(),
            pace: ChunkPace::default(),
        };
        heads.set_limit(of_client);
        Arc::new(heads)
    }

    /// Changes the limit. Heads keep what they hold beyond a lower one.
    pub(crate) fn set_limit(&self, of_client: u64) {
        let of_client = usize::try_from(of_client).unwrap_or(usize::MAX);
        self.of_client.store(of_client, Ordering::Relaxed);
    }

    /// The share of a head of this client, which has nothing yet.
    pub(crate) fn share(self: &Arc<Self>, address: Option<IpAddr>) -> HeadShare {
        let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        HeadShare {
            peer: address,
            client: network(address),
            of_client: 0,
            bytes: 0,
            reservation: MemoryReservation::new(&self.memory, connections_of(Some(address))),
            heads: self.clone(),
        }
    }

    fn enter(&self, client: IpAddr, bytes: usize) -> Result<(), Full> {
        let mut clients = self.clients();
        let sum = clients.get(&client).unwrap_or(&0).saturating_add(bytes);
        if sum > self.of_client.load(Ordering::Relaxed) {
            return Err(Full(Exhausted::ClientMemory));
        }
        clients.insert(client, sum);
        Ok(())
    }

    fn leave(&self, client: IpAddr, bytes: usize) {
        let mut clients = self.clients();
        if let Some(sum) = clients.get_mut(&client) {
            *sum = sum.saturating_sub(bytes);
            if *sum == 0 {
                clients.remove(&client);
            }
        }
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadShare {
    /// Grows the share to cover a head of `length` bytes.
    ///
    /// # Errors
    /// When the client's part of the memory, or all of it, is used up.
    pub(crate) fn cover(&mut self, length: usize) -> Result<(), Full> {
        let wanted = length.saturating_sub(SHORT_HEAD).div_ceil(STEP) * STEP;
        let Some(more) = wanted.checked_sub(self.bytes).filter(|more| *more > 0) else {
            return Ok(());
        };
        self.heads.enter(self.client, more)?;
        if let Err(full) = self.reservation.grow(more) {
            self.heads.leave(self.client, more);
            return Err(full);
        }
        self.of_client += more;
        self.bytes += more;
        Ok(())
    }

    /// Counts what is held for the client that a trusted proxy names, and no longer for the proxy.
    ///
    /// # Errors
    /// When the client's part of the memory, or all of it, is used up.
    pub(crate) fn count_for_client(&mut self, client: IpAddr) -> Result<(), Full> {
        let covered = self.bytes;
        self.release();
        let mut named = self.heads.share(Some(client));
        named.peer = self.peer;
        if covered > 0 {
            // The same number of steps.
            named.cover(SHORT_HEAD + covered)?;
        }
        *self = named;
        Ok(())
    }

    /// Counts what is held for a known access key, unless that has more than its share of the memory, and no longer
    /// for the address.
    pub(crate) fn count_for(&mut self, holder: u64) {
        if self.of_client > 0 && self.reservation.count_for(holder) {
            self.heads
                .leave(self.client, std::mem::take(&mut self.of_client));
        }
    }

    /// How long the connection is not read after so many small chunks of a body.
    pub(crate) fn pause_after(&self, chunks: usize) -> Option<Duration> {
        self.heads.pace.pause(self.client, chunks, Instant::now())
    }

    /// Gives all of it back; what follows counts for the peer.
    pub(crate) fn release(&mut self) {
        if self.bytes > 0 || self.client != network(self.peer) {
            let next = self.heads.share(Some(self.peer));
            drop(std::mem::replace(self, next));
        }
    }
}

impl Drop for HeadShare {
    fn drop(&mut self) {
        if self.of_client > 0 {
            self.heads.leave(self.client, self.of_client);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KIB: usize = 1 << 10;

    fn heads() -> Arc<ClientHeads> {
        ClientHeads::new(MemoryBudget::unmeasured(256 << 10), 64 << 10)
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn the_heads_of_one_address_have_their_part_and_give_it_back() {
        let heads = heads();
        let mut shares: Vec<_> = (0..5).map(|_| heads.share(address(1))).collect();
        for share in &mut shares {
            share.cover(8 * KIB).unwrap();
            share.cover(8 * KIB).unwrap();
        }
        for share in &mut shares[..4] {
            share.cover(20 * KIB).unwrap();
            share.cover(24 * KIB).unwrap();
        }
        let refused = shares[4].cover(9 * KIB).unwrap_err().0;
        assert_eq!(refused, Exhausted::ClientMemory);
        heads.share(address(2)).cover(72 * KIB).unwrap();
        shares[0].release();
        shares[4].cover(24 * KIB).unwrap();
        drop(shares);
        assert!(heads.clients().is_empty());
    }

    #[test]
    fn a_head_counts_for_the_client_that_a_proxy_names_until_the_next_one() {
        let heads = heads();
        let mut first = heads.share(address(1));
        first.cover(72 * KIB).unwrap();
        first.count_for_client(address(9).unwrap()).unwrap();
        let mut second = heads.share(address(1));
        second.cover(72 * KIB).unwrap();
        let refused = second.count_for_client(address(9).unwrap()).unwrap_err().0;
        assert_eq!(refused, Exhausted::ClientMemory);
        first.release();
        second.cover(72 * KIB).unwrap();
        second.count_for_client(address(9).unwrap()).unwrap();
        first.cover(72 * KIB).unwrap();
        drop((first, second));
        assert!(heads.clients().is_empty());
    }

    #[test]
    fn the_head_of_a_known_key_leaves_the_part_of_its_address() {
        let heads = heads();
        let mut known: Vec<_> = (0..2).map(|_| heads.share(address(1))).collect();
        for share in &mut known {
            share.cover(60 * KIB).unwrap();
            share.count_for(7);
        }
        assert!(heads.clients().is_empty());
        let mut third = heads.share(address(1));
        third.cover(72 * KIB).unwrap();
        third.count_for(7);
        assert_eq!(heads.clients().len(), 1, "a key has its share alone");
        drop(known);
        third.count_for(7);
        assert!(heads.clients().is_empty());
    }
}

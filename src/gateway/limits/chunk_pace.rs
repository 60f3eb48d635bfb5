//! The pace of small chunks (HTTP/1.1) and small DATA frames (HTTP/2) in request bodies: each costs more than its bytes,
//! so the connections of one client address have a rate together. Beyond it a connection is not read for a while;
//! nothing is refused.

use crate::fair_queue::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time of one small chunk: a million in a second.
const CHUNK: Duration = Duration::from_micros(1);
/// So far ahead of its rate an address is not slowed.
const BURST: Duration = Duration::from_millis(20);
/// The longest pause of a connection: shorter than any limit of a client's silence should be.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// With more addresses those that are within their rate are forgotten.
const KEPT: usize = 1024;

/// When the small chunks of each address are paid for; an IPv6 network of 64 bits counts as one address.
#[derive(Default)]
pub(super) struct ChunkPace(Mutex<HashMap<IpAddr, Instant>>);

impl ChunkPace {
    /// How long a connection of this client is not read after so many small chunks.
    pub(super) fn pause(&self, client: IpAddr, chunks: usize, now: Instant) -> Option<Duration> {
        let cost = CHUNK.saturating_mul(u32::try_from(chunks).unwrap_or(u32::MAX));
        let mut paid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if paid.len() > KEPT {
            paid.retain(|_, paid| *paid > now);
        }
        let paid = paid.entry(network(client)).or_insert(now);
        let ahead = paid.saturating_duration_since(now) + cost;
        let ahead = ahead.min(LONGEST_PAUSE);
        *paid = now + ahead;
        (ahead > BURST).then_some(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn the_small_chunks_of_one_address_have_a_rate_together() {
        let (pace, now) = (ChunkPace::default(), Instant::now());
        assert_eq!(pace.pause(client(1), 20_000, now), None);
        let pause = |chunks, now| pace.pause(client(1), chunks, now);
        assert_eq!(pause(10_000, now), Some(Duration::from_millis(30)));
        assert_eq!(pause(100_000_000, now), Some(LONGEST_PAUSE));
        assert_eq!(pace.pause(client(2), 20_000, now), None);
        assert_eq!(pause(1_000, now + LONGEST_PAUSE), None);
    }

    #[test]
    fn addresses_within_their_rate_are_forgotten() {
        let (pace, now) = (ChunkPace::default(), Instant::now());
        for last in 0..=u16::try_from(KEPT).unwrap_or(u16::MAX) {
            let [high, low] = last.to_be_bytes();
            pace.pause(IpAddr::from([10, 0, high, low]), 1, now);
        }
        pace.pause(client(1), 1, now + BURST);
        let paid = pace.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(paid.len(), 1);
    }
}

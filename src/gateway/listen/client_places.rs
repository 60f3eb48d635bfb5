//! How many connections one client address may have open (`limits.client_connections`), an IPv6 network of 64 bits as
//! one address. A further one waits for a place, and ends where none is free in time. Once a call over HTTP/1 brings
//! an access key that the backend has accepted, its connection counts for the key, which may have more: one address
//! may be that of many clients. The connections of trusted proxies count for nobody, unless a header of the PROXY
//! protocol names the client.

use crate::fair_queue::network;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Connections of one access key, in those of one address.
const TIMES_AS_MANY: usize = 8;
/// The most connections of one address that wait.
const MOST_WAITING: usize = 64;

tokio::task_local! {
    /// Set where a connection is served, and read where its calls are: pingora lies between.
    static PLACE: Arc<ClientPlace>;
}

/// The connections of all clients.
pub struct ClientPlaces {
    limit: AtomicUsize,
    addresses: Mutex<HashMap<IpAddr, Weak<Places>>>,
    keys: Mutex<HashMap<u64, Weak<Places>>>,
}

/// The places of one client.
struct Places {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A connection's place, until it is dropped.
pub(super) struct ClientPlace {
    all: Arc<ClientPlaces>,
    taken: Mutex<Taken>,
}

/// The place that is taken; the client's places last as long as one of them is.
struct Taken {
    _permit: OwnedSemaphorePermit,
    _places: Arc<Places>,
    is_of_key: bool,
}

impl ClientPlaces {
    /// So many connections for each address.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit),
            addresses: Mutex::default(),
            keys: Mutex::default(),
        })
    }

    /// Changes the limit, for clients that have no connection open.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// A place for a connection from this address; None where none is free in time, or too many wait already.
    pub(super) async fn take(
        self: &Arc<Self>,
        address: IpAddr,
        patience: Duration,
    ) -> Option<Arc<ClientPlace>> {
        let limit = self.limit.load(Ordering::Relaxed);
        let places = places_of(&self.addresses, network(address), limit);
        let permit = match places.free.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waiting = Waiting::enter(&places)?;
                let free = timeout(patience, places.free.clone().acquire_owned());
                free.await.ok()?.ok()?
            }
        };
        Some(Arc::new(ClientPlace {
            all: self.clone(),
            taken: Mutex::new(Taken {
                _permit: permit,
                _places: places,
                is_of_key: false,
            }),
        }))
    }
}

/// Serves a connection with its place, so that its calls find it.
pub(super) async fn with_place(place: Option<Arc<ClientPlace>>, serving: impl Future<Output = ()>) {
    match place {
        Some(place) => PLACE.scope(place, serving).await,
        None => serving.await,
    }
}

/// A call of this connection has brought an access key that the backend has accepted: the connection counts for it
/// from now on, if the key may have one more.
pub(crate) fn count_for_key(holder: u64) {
    let _ = PLACE.try_with(|place| {
        let mut taken = place.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_of_key {
            return;
        }
        let limit = place.all.limit.load(Ordering::Relaxed);
        let places = places_of(&place.all.keys, holder, limit.saturating_mul(TIMES_AS_MANY));
        if let Ok(permit) = places.free.clone().try_acquire_owned() {
            *taken = Taken {
                _permit: permit,
                _places: places,
                is_of_key: true,
            };
        }
    });
}

fn places_of<K: Copy + Eq + Hash>(
    all: &Mutex<HashMap<K, Weak<Places>>>,
    client: K,
    limit: usize,
) -> Arc<Places> {
    let mut all = lock(all);
    if let Some(places) = all.get(&client).and_then(Weak::upgrade) {
        return places;
    }
    // Whoever has left is forgotten before the table grows.
    if all.len() == all.capacity() {
        all.retain(|_, places| places.strong_count() > 0);
    }
    let places = Arc::new(Places {
        free: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
        waiting: AtomicUsize::new(0),
    });
    all.insert(client, Arc::downgrade(&places));
    places
}

fn lock<K>(all: &Mutex<HashMap<K, Weak<Places>>>) -> MutexGuard<'_, HashMap<K, Weak<Places>>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that waits, until this is dropped.
struct Waiting<'a>(&'a Places);

impl<'a> Waiting<'a> {
    fn enter(places: &'a Places) -> Option<Self> {
        let waiting = Self(places);
        let before = places.waiting.fetch_add(1, Ordering::Relaxed);
        (before < MOST_WAITING).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    async fn taken(places: &Arc<ClientPlaces>, from: &str) -> Option<Arc<ClientPlace>> {
        places.take(address(from), Duration::ZERO).await
    }

    #[tokio::test]
    async fn an_address_has_its_places_and_a_network_of_ipv6_is_one() {
        let places = ClientPlaces::new(2);
        let first = taken(&places, "2001:db8::1").await;
        let _second = taken(&places, "2001:db8::2").await.unwrap();
        assert!(taken(&places, "2001:db8::3").await.is_none());
        assert!(taken(&places, "2001:db8:1::1").await.is_some());
        assert!(taken(&places, "::ffff:10.0.0.1").await.is_some());
        drop(first);
        assert!(taken(&places, "2001:db8::3").await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_gets_the_place_that_becomes_free() {
        let places = ClientPlaces::new(1);
        let first = taken(&places, "10.0.0.1").await.unwrap();
        let waiting = places.take(address("10.0.0.1"), Duration::from_secs(10));
        let leaving = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            drop(first);
        };
        let (place, ()) = tokio::join!(waiting, leaving);
        assert!(place.is_some());
    }

    #[tokio::test]
    async fn a_connection_with_a_known_key_leaves_the_places_of_its_address() {
        let places = ClientPlaces::new(1);
        let mut open = Vec::new();
        for _ in 0..TIMES_AS_MANY {
            let place = taken(&places, "10.0.0.1").await.unwrap();
            let counted = async { count_for_key(7) };
            with_place(Some(place.clone()), counted).await;
            open.push(place);
        }
        let place = taken(&places, "10.0.0.1").await.unwrap();
        with_place(Some(place.clone()), async { count_for_key(7) }).await;
        assert!(
            taken(&places, "10.0.0.1").await.is_none(),
            "the key has its own"
        );
        with_place(Some(place), async { count_for_key(8) }).await;
        assert!(taken(&places, "10.0.0.1").await.is_some());
    }

    #[tokio::test]
    async fn clients_that_have_left_are_forgotten() {
        let places = ClientPlaces::new(1);
        for number in 0..10_000_u32 {
            let from = IpAddr::from(number.to_be_bytes());
            assert!(places.take(from, Duration::ZERO).await.is_some());
        }
        assert!(lock(&places.addresses).len() < 100);
    }
}

//! Limits on guessing passwords: failures are counted per account and address, and per each alone, so that
//! neither one address can try many accounts nor many addresses one account. They are counted in the store: servers
//! over one database allow together what one allows, and a restart resets nothing.

use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use crate::fair_queue::network;
use monitor_store::{FailureCounter, SignInFailureStore};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Failures before a wait: of one account from one address, and of each alone.
const TOGETHER: u32 = 5;
const ALONE: u32 = 50;
/// Counters that are kept.
const MOST_COUNTERS: u32 = 100_000;
/// How often what is over is deleted.
const FORGET_EVERY_MS: i64 = 60_000;
/// Characters of a name that are compared.
const NAME: usize = 64;

/// The counted failures of all servers over one store.
pub(crate) struct SignInLimits {
    store: Arc<dyn SignInFailureStore>,
    /// When this process last deleted what is over, milliseconds since 1970.
    forgotten_ms: AtomicI64,
}

/// What a failure counts for.
struct Counters {
    both: FailureCounter,
    account: FailureCounter,
    network: FailureCounter,
}

impl SignInLimits {
    pub(crate) fn new(store: Arc<dyn SignInFailureStore>) -> Self {
        Self {
            store,
            forgotten_ms: AtomicI64::new(0),
        }
    }

    /// How long to wait before a password of this account is checked; None for no wait.
    pub(crate) async fn wait(
        &self,
        name: &str,
        address: Option<IpAddr>,
    ) -> Result<Option<Duration>, ApiError> {
        let counters = Counters::new(name, address).all();
        Ok(self.store.failure_wait(&counters, now_ms()).await?)
    }

    /// Counts an attempt as a wrong password, before the password is checked, so that parallel attempts count too. If
    /// there is a wait, nothing is counted and no password may be checked.
    pub(crate) async fn count(
        &self,
        name: &str,
        address: Option<IpAddr>,
    ) -> Result<Option<Duration>, ApiError> {
        let (counters, now_ms) = (Counters::new(name, address).all(), now_ms());
        let wait = self.store.count_failure(&counters, now_ms).await?;
        if wait.is_none() && self.is_time_to_forget(now_ms) {
            self.store.forget_failures(now_ms, MOST_COUNTERS).await?;
        }
        Ok(wait)
    }

    /// Resets the failures of an account from an address, because its owner has signed in. From those of
    /// the address one is subtracted, which was counted before the password was checked.
    pub(crate) async fn succeeded(
        &self,
        name: &str,
        address: Option<IpAddr>,
    ) -> Result<(), ApiError> {
        let of = Counters::new(name, address);
        let cleared = [of.both, of.account];
        Ok(self.store.forgive_failures(&cleared, of.network).await?)
    }

    fn is_time_to_forget(&self, now_ms: i64) -> bool {
        let last = self.forgotten_ms.load(Ordering::Relaxed);
        let is_due = now_ms.saturating_sub(last) >= FORGET_EVERY_MS;
        let (own, relaxed) = (&self.forgotten_ms, Ordering::Relaxed);
        is_due && own.compare_exchange(last, now_ms, relaxed, relaxed).is_ok()
    }
}

impl Counters {
    fn new(name: &str, address: Option<IpAddr>) -> Self {
        let name: String = name.trim().to_lowercase().chars().take(NAME).collect();
        let network = address.map_or_else(String::new, |address| network(address).to_string());
        Self {
            both: counter("both", &network, &name, TOGETHER),
            account: counter("account", "", &name, ALONE),
            network: counter("network", &network, "", ALONE),
        }
    }

    fn all(&self) -> [FailureCounter; 3] {
        [self.both, self.account, self.network]
    }
}

/// Only the hash is stored: people type passwords into the field of the name.
fn counter(kind: &str, network: &str, name: &str, allowed: u32) -> FailureCounter {
    let counted = [kind, network, name].join("\0");
    FailureCounter {
        key: Sha256::digest(counted.as_bytes()).into(),
        allowed,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use monitor_store::{FIRST_WAIT, SqliteStore};
    use support::stack::Folder;

    struct World {
        limits: SignInLimits,
        _folder: Arc<Folder>,
    }

    impl World {
        async fn new() -> Self {
            let folder = Folder::new();
            let store = SqliteStore::open(&folder.path().join("a.db")).await;
            Self {
                limits: SignInLimits::new(Arc::new(store.unwrap())),
                _folder: folder,
            }
        }

        async fn waits(&self, name: &str, from: &str) -> bool {
            let wait = self.limits.wait(name, address(from)).await.unwrap();
            assert!(wait.is_none_or(|wait| wait <= FIRST_WAIT));
            wait.is_some()
        }

        async fn fails(&self, name: &str, from: &str) -> bool {
            let wait = self.limits.count(name, address(from)).await.unwrap();
            wait.is_none()
        }
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[tokio::test]
    async fn five_failures_make_one_wait_and_only_there() {
        let world = World::new().await;
        for _ in 0..TOGETHER {
            assert!(!world.waits("Admin", "10.0.0.1").await);
            assert!(world.fails("admin", "10.0.0.1").await);
        }
        assert!(world.waits("admin ", "10.0.0.1").await);
        assert!(!world.fails("admin", "10.0.0.1").await);
        assert!(!world.waits("admin", "10.0.0.2").await);
        assert!(!world.waits("other", "10.0.0.1").await);
        let owner = world.limits.succeeded("admin", address("10.0.0.1"));
        owner.await.unwrap();
        assert!(!world.waits("admin", "10.0.0.1").await);
    }

    #[tokio::test]
    async fn one_address_with_many_names_and_many_addresses_with_one_name_wait_too() {
        let world = World::new().await;
        for number in 0..ALONE {
            assert!(world.fails(&format!("n{number}"), "2001:db8::1").await);
            assert!(world.fails("admin", &format!("10.0.0.{number}")).await);
        }
        assert!(world.waits("new", "2001:db8::ffff").await);
        assert!(!world.waits("new", "2001:db8:1::1").await);
        assert!(world.waits("admin", "10.1.1.1").await);
    }

    #[tokio::test]
    async fn passwords_that_are_right_leave_no_wait_however_many() {
        let world = World::new().await;
        let here = address("10.0.0.1");
        for number in 0..ALONE + 2 {
            let name = format!("n{number}");
            assert!(world.fails(&name, "10.0.0.1").await, "{number}");
            world.limits.succeeded(&name, here).await.unwrap();
        }
        for number in 0..ALONE {
            let name = format!("wrong {number}");
            assert!(world.fails(&name, "10.0.0.1").await, "{number}");
        }
        assert!(world.waits("new", "10.0.0.1").await, "wrong ones count");
    }
}

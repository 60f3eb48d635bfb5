//! Limits on guessing passwords: failures are counted per account and address, and per each alone, so that
//! neither one address can try many accounts nor many addresses one account. Kept in memory, of limited
//! size; a restart resets it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures before a wait: of one account from one address, and of each alone.
const TOGETHER: u32 = 5;
const ALONE: u32 = 50;
/// The first wait; each further failure doubles the next one.
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Failures are dropped after this long without another one.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);
/// Counters that are kept.
const MOST_COUNTERS: usize = 10_000;
/// Characters of a name that are compared.
const NAME: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Both(String, Option<IpAddr>),
    Account(String),
    Address(Option<IpAddr>),
}

struct Count {
    failures: u32,
    at: Instant,
    until: Instant,
}

/// The counted failures of this process.
#[derive(Default)]
pub(crate) struct SignInLimits(Mutex<HashMap<Key, Count>>);

impl SignInLimits {
    /// How long to wait before a password of this account is checked; None for no wait.
    pub(crate) fn wait(
        &self,
        name: &str,
        address: Option<IpAddr>,
        now: Instant,
    ) -> Option<Duration> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = keys(name, address).into_iter().filter_map(|(key, _)| {
            let until = counts.get(&key)?.until;
            until
                .checked_duration_since(now)
                .filter(|wait| !wait.is_zero())
        });
        waits.max()
    }

    /// Counts a wrong password.
    pub(crate) fn failed(&self, name: &str, address: Option<IpAddr>, now: Instant) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_COUNTERS {
            counts.retain(|_, count| now.duration_since(count.at) < FORGOTTEN_AFTER);
        }
        for (key, allowed) in keys(name, address) {
            if counts.len() >= MOST_COUNTERS && !counts.contains_key(&key) {
                forget_oldest(&mut counts);
            }
            let count = counts.entry(key).or_insert(Count {
                failures: 0,
                at: now,
                until: now,
            });
            if now.duration_since(count.at) >= FORGOTTEN_AFTER {
                count.failures = 0;
            }
            count.failures = count.failures.saturating_add(1);
            count.at = now;
            count.until = now + wait_after(count.failures, allowed);
        }
    }

    /// Resets the failures of an account from an address, because its owner has signed in. From those of
    /// the address one is subtracted, which was counted before the password was checked.
    pub(crate) fn succeeded(&self, name: &str, address: Option<IpAddr>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [(both, _), (account, _), (address, allowed)] = keys(name, address);
        counts.remove(&both);
        counts.remove(&account);
        if let Some(count) = counts.get_mut(&address) {
            count.failures = count.failures.saturating_sub(1);
            count.until = count.at + wait_after(count.failures, allowed);
        }
    }
}

/// Makes room for a new counter: with a full memory everybody could guess.
fn forget_oldest(counts: &mut HashMap<Key, Count>) {
    let oldest = counts.iter().min_by_key(|(_, count)| count.at);
    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
        counts.remove(&key);
    }
}

fn wait_after(failures: u32, allowed: u32) -> Duration {
    match failures.checked_sub(allowed) {
        None => Duration::ZERO,
        Some(over) => FIRST_WAIT
            .saturating_mul(2_u32.saturating_pow(over.min(10)))
            .min(LONGEST_WAIT),
    }
}

fn keys(name: &str, address: Option<IpAddr>) -> [(Key, u32); 3] {
    let name: String = name.trim().to_lowercase().chars().take(NAME).collect();
    let address = address.map(network);
    [
        (Key::Both(name.clone(), address), TOGETHER),
        (Key::Account(name), ALONE),
        (Key::Address(address), ALONE),
    ]
}

/// One subscriber has a whole /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(bits.into())
        }
        v4 => v4,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn five_failures_make_one_wait_longer_each_time_and_only_there() {
        let (limits, start) = (SignInLimits::default(), Instant::now());
        let here = address("10.0.0.1");
        for _ in 0..TOGETHER {
            assert_eq!(limits.wait("Admin", here, start), None);
            limits.failed("admin", here, start);
        }
        assert_eq!(limits.wait("admin ", here, start), Some(FIRST_WAIT));
        assert_eq!(limits.wait("admin", address("10.0.0.2"), start), None);
        assert_eq!(limits.wait("other", here, start), None);
        let later = start + FIRST_WAIT;
        assert_eq!(limits.wait("admin", here, later), None);
        limits.failed("admin", here, later);
        assert_eq!(limits.wait("admin", here, later), Some(FIRST_WAIT * 2));
        limits.succeeded("admin", here);
        assert_eq!(limits.wait("admin", here, later), None);
    }

    #[test]
    fn one_address_with_many_names_and_many_addresses_with_one_name_wait_too() {
        let (limits, now) = (SignInLimits::default(), Instant::now());
        for number in 0..ALONE {
            limits.failed(&format!("n{number}"), address("2001:db8::1"), now);
            limits.failed("admin", address(&format!("10.0.0.{number}")), now);
        }
        assert!(limits.wait("new", address("2001:db8::ffff"), now).is_some());
        assert!(limits.wait("new", address("2001:db8:1::1"), now).is_none());
        assert!(limits.wait("admin", address("10.1.1.1"), now).is_some());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (limits, now) = (SignInLimits::default(), Instant::now());
        for number in 0..(MOST_COUNTERS / 3 + 100) as u32 {
            let address = Some(IpAddr::from((167_772_160 + number).to_be_bytes()));
            limits.failed(&number.to_string(), address, now);
        }
        assert_eq!(limits.0.lock().unwrap().len(), MOST_COUNTERS);
    }

    #[test]
    fn a_full_memory_forgets_the_oldest_and_counts_what_is_new() {
        let (limits, now) = (SignInLimits::default(), Instant::now());
        for number in 0..(MOST_COUNTERS / 2 + 10) as u64 {
            let at = now + Duration::from_millis(number);
            limits.failed(&number.to_string(), None, at);
        }
        let later = now + Duration::from_secs(60);
        let here = address("10.0.0.1");
        for _ in 0..TOGETHER {
            assert_eq!(limits.wait("admin", here, later), None);
            limits.failed("admin", here, later);
        }
        assert_eq!(limits.wait("admin", here, later), Some(FIRST_WAIT));
        let counts = limits.0.lock().unwrap();
        assert!(!counts.contains_key(&Key::Account("0".to_owned())));
        assert_eq!(counts.len(), MOST_COUNTERS);
    }

    #[test]
    fn passwords_that_are_right_leave_no_wait_however_many() {
        let (limits, now) = (SignInLimits::default(), Instant::now());
        let here = address("10.0.0.1");
        for number in 0..ALONE + 10 {
            let name = format!("n{number}");
            assert_eq!(limits.wait(&name, here, now), None, "{number}");
            limits.failed(&name, here, now);
            limits.succeeded(&name, here);
        }
        for number in 0..ALONE {
            assert_eq!(limits.wait("new", here, now), None, "{number}");
            limits.failed(&format!("wrong {number}"), here, now);
        }
        assert!(limits.wait("new", here, now).is_some(), "wrong ones count");
    }
}

//! Who a job is for, and how urgent it is.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

/// Tenants are told apart by this process alone: the numbers reveal nothing of a key.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Who a job is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tenant {
    /// The access key, or whoever else asks.
    pub(crate) holder: u64,
    /// The application, of one holder.
    pub(crate) application: u64,
}

impl Tenant {
    /// The tenant of this holder and application; equal values give the same tenant.
    pub(crate) fn new(holder: &impl Hash, application: &impl Hash) -> Self {
        Self {
            holder: holder_of(holder),
            application: HASHER.hash_one(application),
        }
    }
}

/// The number of a holder; equal values have the same.
pub(crate) fn holder_of(holder: &impl Hash) -> u64 {
    HASHER.hash_one(holder)
}

/// Shares of clients whose access keys no backend has accepted; many addresses share one.
const MOST_STRANGERS: u64 = 256;

/// The holder of the access keys that a client at this address invents.
pub(crate) fn stranger(address: Option<IpAddr>) -> u64 {
    HASHER.hash_one(address.map(network)) % MOST_STRANGERS
}

/// The holder of the heads and handshakes of clients at this address, which have limits of their own.
pub(crate) fn connections_of(address: Option<IpAddr>) -> u64 {
    MOST_STRANGERS + stranger(address)
}

/// Whether a holder is one of [`stranger`].
pub(crate) fn is_stranger(holder: u64) -> bool {
    holder < MOST_STRANGERS
}

/// The part of an address that one client has: whoever has one of IPv6 usually has a network of 64 bits.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
        v4 => v4,
    }
}

/// Whether a client waits for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A call waits, such as a check of sync mode.
    Awaited,
    /// Nobody waits: deliveries from a spool, batches, files, replays.
    Deferred,
}

impl Urgency {
    /// The label in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Deferred => "deferred",
        }
    }
}

/// On whose account a job runs, and how urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) tenant: Tenant,
    pub(crate) urgency: Urgency,
}

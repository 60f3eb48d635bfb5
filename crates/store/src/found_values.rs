//! What was found in records, as hashes with a key (`settings::value_keys`): records with the same value are found
//! without the value being stored.

use std::fmt;
use std::sync::Arc;

/// The most values of one record; further ones are not stored.
pub const MOST_FOUND_VALUES: usize = 256;
/// The longest name of a type, in bytes, whose values are stored.
pub const LONGEST_VALUE_KIND: usize = 256;
/// How many other records are counted of each value; one more says that there are more.
pub const MOST_SAME: u64 = 100;

/// What a value takes in the store, with its entries in indexes.
pub(crate) const VALUE_BYTES: usize = 100;
/// The values of a record whose other records are counted, and the types that are told.
pub(crate) const MOST_COUNTED: i64 = 64;
pub(crate) const MOST_KINDS: i64 = 32;

/// The hash of a type and a value with the key of an application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueHash(pub [u8; 16]);

impl fmt::Debug for ValueHash {
    /// A hash tells who has the key which value it was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ValueHash")
    }
}

/// A value that was found in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundValue {
    /// Its type: a pattern's name.
    pub kind: Arc<str>,
    /// Stands for the value.
    pub hash: ValueHash,
    /// The key that made the hash.
    pub key_id: i64,
}

/// Which records a search for a value lists.
#[derive(Clone, Debug)]
pub struct ValueFilter {
    /// The hashes that stand for the value: one for each key, application and type.
    pub hashes: Vec<ValueHash>,
    /// Only records before this `RecordSummary::seq`.
    pub before: Option<i64>,
    /// Records per page, from 1.
    pub limit: u32,
}

/// In how many other records the values of one type are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameValues {
    /// The entity type.
    pub kind: String,
    /// Other records; above [`MOST_SAME`] there are more.
    pub records: u64,
    /// Users whom those records name.
    pub users: u64,
}

//! The path of a text as a number of fixed size: the same in every event of a stream, whatever the members above the
//! text are called. Names come from a model server, so their number and length are not bounded.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// Without the key, no model server can find two paths with one number and so have two texts read as one.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The members that lead to a text. Comparable within this process only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPath(u64);

impl TextPath {
    /// The path of an outermost object with this name.
    pub fn of(name: &str) -> Self {
        Self(KEY.hash_one(name))
    }

    /// The path of a member, or of an element by its index, of what this path leads to.
    pub fn member(self, name: &str) -> Self {
        Self(KEY.hash_one((self.0, name)))
    }

    /// That of the texts inside what this path leads to which stand alone. No member has it.
    pub(crate) fn alone(self) -> Self {
        Self(KEY.hash_one(self.0))
    }
}

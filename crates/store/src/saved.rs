//! Filters of the list of records that people keep under a name. What a filter means is not known here:
//! it is a piece of an address.

use super::{AccountId, StoreError};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use uuid::Uuid;

/// Filters that a person is shown, own and shared ones together.
pub(super) const MOST_SHOWN: u32 = 200;

/// Identifies a saved filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilterId(pub Uuid);

/// A filter with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFilter {
    /// Its identifier.
    pub id: FilterId,
    /// Whose it is.
    pub owner: AccountId,
    /// What its owner calls it; no two of an owner have the same name.
    pub name: String,
    /// The filter as it stands in the list's address.
    pub query: String,
    /// Whether others of the same tenant see it: those who are bound to the owner's application, or
    /// to none as the owner.
    pub is_shared: bool,
    /// When it was made, milliseconds since 1970.
    pub created_at_ms: i64,
}

/// A filter as somebody sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFilter {
    /// The filter.
    pub filter: SavedFilter,
    /// The name of its owner's account.
    pub owner_name: String,
}

/// Saved filters.
#[async_trait]
pub trait SavedFilterStore: Send + Sync {
    /// A person's own filters and those shared in the tenant, in the order of their names, at most
    /// [`MOST_SHOWN`].
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; so for every method here.
    async fn saved_filters(
        &self,
        viewer: AccountId,
        tenant: Option<ApplicationId>,
    ) -> Result<Vec<SeenFilter>, StoreError>;

    /// Keeps a filter, in place of the owner's one of the same name.
    async fn keep_filter(&self, filter: SavedFilter) -> Result<(), StoreError>;

    /// Removes a filter; nothing where there is none.
    async fn remove_filter(&self, id: FilterId) -> Result<(), StoreError>;
}

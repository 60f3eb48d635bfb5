//! Filters of the record list that people save under a name. The store does not interpret a filter: it is
//! the query string of a URL.

use crate::error::StoreError;
use crate::people::accounts::AccountId;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use uuid::Uuid;

/// The most filters that a person is shown, own and shared ones together.
pub(crate) const MOST_SHOWN: u32 = 200;

/// Identifies a saved filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilterId(pub Uuid);

/// A filter with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFilter {
    /// Stays the same when the filter is replaced.
    pub id: FilterId,
    /// The account that saved it.
    pub owner: AccountId,
    /// The name that its owner gave it; unique per owner.
    pub name: String,
    /// The filter as the query string of the record list.
    pub query: String,
    /// Whether others of the same tenant see it: those bound to the same application as its owner, or,
    /// like its owner, to none.
    pub is_shared: bool,
    /// When it was created, milliseconds since 1970.
    pub created_at_ms: i64,
}

/// A filter as a viewer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFilter {
    /// What was saved.
    pub filter: SavedFilter,
    /// The account name of its owner.
    pub owner_name: String,
}

/// The saved filters of all accounts.
#[async_trait]
pub trait SavedFilterStore: Send + Sync {
    /// A person's own filters and those shared within the tenant, ordered by name, at most 200.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn saved_filters(
        &self,
        viewer: AccountId,
        tenant: Option<ApplicationId>,
    ) -> Result<Vec<SeenFilter>, StoreError>;

    /// Saves a filter; replaces the owner's filter of the same name.
    async fn keep_filter(&self, filter: SavedFilter) -> Result<(), StoreError>;

    /// Removes a filter; does nothing if it does not exist.
    async fn remove_filter(&self, id: FilterId) -> Result<(), StoreError>;
}

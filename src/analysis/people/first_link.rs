//! The one-time link of the first administrator: a new store has one account, without a password.

use super::LINK_LASTS;
use super::accounts::{can_administer, new_account};
use crate::analysis::access::token_cache::random_value;
use crate::analysis::clock::now_ms;
use monitor_model::Secret;
use monitor_store::{AccountStore, Role, SecretHash, Store, StoreError};

/// The account that a new store has.
const FIRST_NAME: &str = "admin";
/// Accounts read at once.
const PAGE: u32 = 200;

/// Makes a one-time link as long as nobody can administer: at the first start, and at each later one until
/// an administrator has a password or has signed in by the identity provider.
pub(crate) async fn first_link(
    store: &dyn Store,
    has_provider: bool,
) -> Result<Option<Secret>, StoreError> {
    if has_administrator(store, has_provider).await? {
        return Ok(None);
    }
    let account = match store.account_named(FIRST_NAME).await? {
        Some(account) => account.id,
        None => {
            let account = new_account(FIRST_NAME, Role::Administrator);
            store.add_account(account.clone(), None).await?;
            // Another server may have created it at the same time.
            let stored = store.account_named(FIRST_NAME).await?;
            stored.map_or(account.id, |stored| stored.id)
        }
    };
    let Ok(value) = random_value() else {
        return Ok(None);
    };
    let ends = now_ms().saturating_add(LINK_LASTS.as_millis() as i64);
    store
        .add_link(SecretHash::of(&value), account, ends, None)
        .await?;
    Ok(Some(value))
}

async fn has_administrator(
    store: &dyn AccountStore,
    has_provider: bool,
) -> Result<bool, StoreError> {
    let mut after: Option<String> = None;
    loop {
        let accounts = store.accounts(after.as_deref(), PAGE).await?;
        if accounts
            .iter()
            .any(|account| can_administer(account, has_provider))
        {
            return Ok(true);
        }
        match accounts.last() {
            Some(last) => after = Some(last.name.clone()),
            None => return Ok(false),
        }
    }
}

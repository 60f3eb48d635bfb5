//! Accounts as values: new accounts, who can administer, and how people sign in.

use crate::analysis::clock::now_ms;
use monitor_store::{Account, AccountId, Role};
use uuid::Uuid;

/// Whether its owner can sign in and administer everything.
pub(crate) fn can_administer(account: &Account, has_provider: bool) -> bool {
    account.role == Role::Administrator
        && account.application_id.is_none()
        && account.disabled_at_ms.is_none()
        && (account.password.is_some() || (has_provider && comes_by_provider(account)))
}

/// Whether its owner signs in by the identity provider only: has signed in, and has no password.
pub(crate) fn comes_by_provider(account: &Account) -> bool {
    account.password.is_none() && account.signed_in_at_ms.is_some()
}

/// An account without a password.
pub(crate) fn new_account(name: &str, role: Role) -> Account {
    Account {
        id: AccountId(Uuid::new_v4()),
        name: name.to_owned(),
        role,
        application_id: None,
        password: None,
        second_factor: None,
        created_at_ms: now_ms(),
        disabled_at_ms: None,
        signed_in_at_ms: None,
    }
}

//! Accounts, sign-ins and saved filters from their columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::people::accounts::{Account, AccountId, Role};
use crate::people::saved_filters::{FilterId, SavedFilter, SeenFilter};
use crate::people::sign_ins::{OpenSignIn, SecretHash, SignIn};
use monitor_model::ApplicationId;

/// An account, from the columns of `accounts`.
pub(crate) fn account(row: &impl Columns) -> Result<Account, StoreError> {
    let role = row.raw("role")?;
    Ok(Account {
        id: AccountId(row.id("id")?),
        name: row.raw("name")?.to_owned(),
        role: Role::from_name(role).ok_or(StoreError::Unreadable("role"))?,
        application_id: row.optional_id("application_id")?.map(ApplicationId),
        password: row.optional_raw("password")?.map(str::to_owned),
        second_factor: row.optional_raw("second_factor")?.map(str::to_owned),
        created_at_ms: row.number("created_at_ms")?,
        disabled_at_ms: row.optional_number("disabled_at_ms")?,
        signed_in_at_ms: row.optional_number("signed_in_at_ms")?,
    })
}

/// A sign-in and its account, from the columns of both tables.
pub(crate) fn sign_in(row: &impl Columns) -> Result<(SignIn, Account), StoreError> {
    let account = account(row)?;
    Ok((sign_in_of(account.id, row)?, account))
}

/// A sign-in with its hash, from the columns of `sign_ins`.
pub(crate) fn open_sign_in(row: &impl Columns) -> Result<OpenSignIn, StoreError> {
    let hash: [u8; 32] = row
        .bytes("hash")?
        .try_into()
        .map_err(|_| StoreError::Unreadable("hash"))?;
    Ok(OpenSignIn {
        hash: SecretHash(hash),
        sign_in: sign_in_of(AccountId(row.id("account_id")?), row)?,
    })
}

fn sign_in_of(account: AccountId, row: &impl Columns) -> Result<SignIn, StoreError> {
    Ok(SignIn {
        account,
        started_at_ms: row.number("started_at_ms")?,
        seen_at_ms: row.number("seen_at_ms")?,
        by_password: row.flag("by_password")?,
        address: row.optional_raw("address")?.map(str::to_owned),
        browser: row.optional_raw("browser")?.map(str::to_owned),
    })
}

/// A saved filter, from the columns of `saved_filters` and its owner's name.
pub(crate) fn seen_filter(row: &impl Columns) -> Result<SeenFilter, StoreError> {
    Ok(SeenFilter {
        filter: SavedFilter {
            id: FilterId(row.id("id")?),
            owner: AccountId(row.id("account_id")?),
            name: row.raw("name")?.to_owned(),
            query: row.raw("query")?.to_owned(),
            is_shared: row.flag("is_shared")?,
            created_at_ms: row.number("created_at_ms")?,
        },
        owner_name: row.raw("owner_name")?.to_owned(),
    })
}

//! Administration of other people's accounts: creating them with a one-time link, their roles, disabling
//! them. Only an administrator of all applications may do it, and the last such administrator cannot be
//! removed.

use super::accounts::{can_administer, new_account};
use super::{LINK_LASTS, People};
use crate::analysis::access::caller::Caller;
use crate::analysis::access::token_cache::random_value;
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use monitor_model::{ApplicationId, Secret};
use monitor_store::{Account, AccountChange, AccountId, Role, SecretHash};
use serde_json::json;

/// The longest name of an account, in characters.
const LONGEST_NAME: usize = 64;
/// Accounts searched for another administrator.
const SEARCHED: u32 = 1_000;
const LAST_ADMINISTRATOR: &str =
    "this is the last administrator: make another one first, and sign in with it";

/// An account to be created.
pub(crate) struct NewAccount {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) application_id: Option<ApplicationId>,
}

/// What an administrator changes of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountEdit {
    Role(Role),
    Disable,
    Enable,
}

impl People {
    /// One page in the order of names, and the position of the next one.
    pub(crate) async fn list_accounts(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<Account>, Option<String>), ApiError> {
        let mut accounts = self
            .accounts
            .accounts(after, limit.saturating_add(1))
            .await?;
        let is_last = accounts.len() <= limit as usize;
        accounts.truncate(limit as usize);
        let next = accounts.last().map(|account| account.name.clone());
        Ok((accounts, next.filter(|_| !is_last)))
    }

    /// Creates an account and returns the one-time link with which its owner sets a password.
    pub(crate) async fn create_account(
        &self,
        caller: &Caller,
        new: NewAccount,
    ) -> Result<(Account, Secret), ApiError> {
        let name = new.name.trim().to_lowercase();
        check_name(&name)?;
        if let Some(id) = new.application_id
            && self.applications.application(id).await?.is_none()
        {
            let text = "no application has this id";
            return Err(FieldProblem::new("application_id", text).into());
        }
        let account = Account {
            application_id: new.application_id,
            ..new_account(&name, new.role)
        };
        let details = json!({"name": name, "role": new.role.as_str()});
        let entry = Action::AccountCreate.entry(caller, target(&account), details);
        let added = self.accounts.add_account(account.clone(), Some(entry));
        if !added.await? {
            return Err(FieldProblem::new("name", "is taken; choose another one").into());
        }
        let link = self.make_link(caller, &account).await?;
        Ok((account, link))
    }

    /// Makes a one-time link for an account, also for one with a password that its owner has forgotten.
    pub(crate) async fn link_for(
        &self,
        caller: &Caller,
        id: AccountId,
    ) -> Result<(Account, Secret), ApiError> {
        let account = self.accounts.account(id).await?.ok_or(ApiError::NotFound)?;
        if account.disabled_at_ms.is_some() {
            return Err(ApiError::Conflict("the account is disabled"));
        }
        let link = self.make_link(caller, &account).await?;
        Ok((account, link))
    }

    /// Like [`People::link_for`], by the name of the account.
    ///
    /// # Errors
    /// [`ApiError`]: no such account, a disabled one, store.
    pub async fn link_for_name(&self, caller: &Caller, name: &str) -> Result<Secret, ApiError> {
        let name = name.trim().to_lowercase();
        let account = self.accounts.account_named(&name).await?;
        let account = account.ok_or(FieldProblem::new("name", "no account has this name"))?;
        let (_, link) = self.link_for(caller, account.id).await?;
        Ok(link)
    }

    /// Changes an account.
    pub(crate) async fn edit_account(
        &self,
        caller: &Caller,
        id: AccountId,
        edit: AccountEdit,
    ) -> Result<Account, ApiError> {
        let account = self.accounts.account(id).await?.ok_or(ApiError::NotFound)?;
        let takes_away = match edit {
            AccountEdit::Role(role) => role != Role::Administrator,
            AccountEdit::Disable => true,
            AccountEdit::Enable => false,
        };
        let has_provider = self.oidc.is_some();
        if takes_away
            && can_administer(&account, has_provider)
            && !self.another_administrator(id).await?
        {
            return Err(ApiError::Conflict(LAST_ADMINISTRATOR));
        }
        let mut change = AccountChange::default();
        match edit {
            AccountEdit::Role(role) => change.role = Some(role),
            AccountEdit::Disable => change.disabled_at_ms = Some(Some(now_ms())),
            AccountEdit::Enable => change.disabled_at_ms = Some(None),
        }
        let disabled_at_ms = change.disabled_at_ms.unwrap_or(account.disabled_at_ms);
        let details = json!({
            "name": account.name, "role": change.role.unwrap_or(account.role).as_str(),
            "disabled": disabled_at_ms.is_some(),
        });
        let entry = Action::AccountChange.entry(caller, target(&account), details);
        let changed = self.accounts.change_account(id, change, Some(entry));
        changed.await?.ok_or(ApiError::NotFound)
    }

    async fn make_link(&self, caller: &Caller, account: &Account) -> Result<Secret, ApiError> {
        let value = random_value().map_err(|_| ApiError::Internal)?;
        let ends = now_ms().saturating_add(LINK_LASTS.as_millis() as i64);
        let details = json!({"name": account.name, "ends_at_ms": ends});
        let entry = Action::AccountLink.entry(caller, target(account), details);
        self.sign_ins
            .add_link(SecretHash::of(&value), account.id, ends, Some(entry))
            .await?;
        Ok(value)
    }

    async fn another_administrator(&self, but: AccountId) -> Result<bool, ApiError> {
        let accounts = self.accounts.accounts(None, SEARCHED).await?;
        let mut others = accounts.iter().filter(|account| account.id != but);
        let has_provider = self.oidc.is_some();
        Ok(others.any(|account| can_administer(account, has_provider)))
    }
}

/// An account in the audit log.
pub(super) fn target(account: &Account) -> Target {
    Target::Account(account.id, account.application_id)
}

/// Checks the name of an account.
pub(crate) fn check_name(name: &str) -> Result<(), FieldProblem> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+');
    let length = name.chars().count();
    match (1..=LONGEST_NAME).contains(&length) && name.chars().all(allowed) {
        true => Ok(()),
        false => Err(FieldProblem::new(
            "name",
            format!("allowed: 1 to {LONGEST_NAME} letters, digits and . - _ @ +"),
        )),
    }
}

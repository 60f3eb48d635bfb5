//! Signing in, and one's own account: one-time links, passwords, sign-ins. Guessing is limited in
//! `sign_in_limits`; other people's accounts are in `administration`.
//!
//! - The value of a link or a sign-in is 256 random bits; only its SHA-256 is stored.
//! - Each sign-in has a new value, whatever the browser sent before.

use super::People;
use super::administration::{check_name, target};
use super::passwords::{self, Person};
use super::refused_sign_ins::{Reason, RefusedSignIn};
use crate::analysis::access::caller::Caller;
use crate::analysis::access::token_cache::random_value;
use crate::analysis::audit::Action;
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use monitor_model::Secret;
use monitor_store::{Account, AccountChange, AuditEntry, SecretHash, SignIn};
use serde_json::json;
use std::net::IpAddr;

/// How long a sign-in lasts without a request, and in total.
pub(crate) const IDLE_MS: i64 = 12 * 3_600_000;
pub(crate) const LONGEST_MS: i64 = 7 * 86_400_000;
/// The latest request of a sign-in is written at most this often.
const TOUCHED_EVERY_MS: i64 = 60_000;

/// A person's change of the own password.
pub(crate) struct PasswordChange {
    pub(crate) old: Secret,
    pub(crate) new: Secret,
}

/// What a sign-in notes of how it began.
pub(crate) struct Origin {
    pub(crate) way: SignInMethod,
    pub(crate) address: Option<IpAddr>,
    /// In a few words of ours.
    pub(crate) browser: Option<String>,
}

/// What showed who a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInMethod {
    /// The password, and the code where the account has a second factor.
    Password,
    Provider,
}

/// Somebody who is signed in.
pub(crate) struct SignedIn {
    pub(crate) account: Account,
    /// Whether a second factor has to be set up before anything else.
    pub(crate) must_set_up: bool,
}

fn is_over(sign_in: &SignIn, account: &Account, now_ms: i64) -> bool {
    now_ms - sign_in.seen_at_ms > IDLE_MS
        || now_ms - sign_in.started_at_ms > LONGEST_MS
        || account.disabled_at_ms.is_some()
}

impl People {
    /// The account of a one-time link.
    pub(crate) async fn link_owner(&self, link: &Secret) -> Result<Option<Account>, ApiError> {
        let Some(id) = self.sign_ins.link(SecretHash::of(link), now_ms()).await? else {
            return Ok(None);
        };
        let account = self.accounts.account(id).await?;
        Ok(account.filter(|account| account.disabled_at_ms.is_none()))
    }

    /// Sets a password with a one-time link, which is then used up; None where the link is not valid.
    pub(crate) async fn use_link(
        &self,
        link: &Secret,
        password: Secret,
    ) -> Result<Option<Account>, ApiError> {
        let Some(owner) = self.link_owner(link).await? else {
            return Ok(None);
        };
        passwords::check(&password, &owner.name)?;
        let hash = passwords::hash(password, Person::Owner(owner.id)).await?;
        let taken = self
            .sign_ins
            .take_link(SecretHash::of(link), now_ms())
            .await?;
        if taken != Some(owner.id) {
            return Ok(None);
        }
        // Before, so that none is left if the process ends in between; after, for those that began meanwhile.
        self.sign_ins.end_other_sign_ins(owner.id, None).await?;
        let account = self.set_password(&owner, hash, None).await?;
        self.sign_ins.end_other_sign_ins(owner.id, None).await?;
        Ok(account)
    }

    /// The account of a name and a password; None for every reason alike, after the same amount of work.
    /// The audit log names the reason, but never what was typed.
    pub(crate) async fn verify_password(
        &self,
        name: &str,
        password: Secret,
        address: Option<IpAddr>,
    ) -> Result<Option<Account>, ApiError> {
        let named = name.trim().to_lowercase();
        // No account has another name, and a database may refuse to look for it.
        let account = match check_name(&named) {
            Ok(()) => self.accounts.account_named(&named).await?,
            Err(_) => None,
        };
        let able = account
            .as_ref()
            .filter(|account| account.disabled_at_ms.is_none());
        let hash = able.and_then(|account| account.password.clone());
        let is_right = passwords::matches(password, hash, Person::At(address)).await?;
        if able.is_some() & is_right {
            return Ok(account);
        }
        let reason = match (&account, able) {
            (None, _) => Reason::UnknownName,
            (Some(_), None) => Reason::AccountDisabled,
            (Some(_), Some(_)) => Reason::WrongPassword,
        };
        self.refused_sign_ins.note(&RefusedSignIn {
            reason,
            account: account.as_ref(),
            person: None,
            address,
        });
        Ok(None)
    }

    /// Begins a sign-in and returns the value of its cookie; an error where the account has got another password, or a
    /// second factor, since it was read.
    pub(crate) async fn begin_sign_in(
        &self,
        account: &Account,
        origin: Origin,
    ) -> Result<Secret, ApiError> {
        let value = random_value().map_err(|_| ApiError::Internal)?;
        let (now_ms, by_password) = (now_ms(), origin.way == SignInMethod::Password);
        let sign_in = SignIn {
            account: account.id,
            started_at_ms: now_ms,
            seen_at_ms: now_ms,
            by_password,
            address: origin.address.map(|address| address.to_string()),
            browser: origin.browser,
        };
        let hash = SecretHash::of(&value);
        let password = account.password.as_deref();
        let added = self
            .sign_ins
            .add_sign_in(hash, sign_in, password, now_ms - IDLE_MS);
        if !added.await? {
            return Err(sign_in_again());
        }
        let change = AccountChange {
            signed_in_at_ms: Some(now_ms),
            ..AccountChange::default()
        };
        let entry = own_entry(Action::AccountSignIn, account);
        let changed = self
            .accounts
            .change_account(account.id, change, Some(entry));
        let asks_now = changed.await?.is_some_and(|it| it.second_factor.is_some());
        // It was turned on meanwhile, and no code was asked for.
        if by_password && account.second_factor.is_none() && asks_now {
            self.sign_ins.end_sign_in(hash).await?;
            return Err(sign_in_again());
        }
        Ok(value)
    }

    /// The account that is signed in with this cookie.
    pub(crate) async fn signed_in(&self, value: &Secret) -> Result<Option<SignedIn>, ApiError> {
        let hash = SecretHash::of(value);
        let Some((sign_in, account)) = self.sign_ins.sign_in(hash).await? else {
            return Ok(None);
        };
        let now_ms = now_ms();
        if is_over(&sign_in, &account, now_ms) {
            return Ok(None);
        }
        if now_ms - sign_in.seen_at_ms >= TOUCHED_EVERY_MS {
            self.sign_ins.touch_sign_in(hash, now_ms).await?;
        }
        let needs_factor = self.require_second_factor && sign_in.by_password;
        Ok(Some(SignedIn {
            must_set_up: needs_factor && account.second_factor.is_none(),
            account,
        }))
    }

    /// Like [`People::signed_in`], but does not extend the sign-in.
    pub(crate) async fn still_signed_in(
        &self,
        value: &Secret,
    ) -> Result<Option<Account>, ApiError> {
        let found = self.sign_ins.sign_in(SecretHash::of(value)).await?;
        let now_ms = now_ms();
        let found = found.filter(|(sign_in, account)| !is_over(sign_in, account, now_ms));
        Ok(found.map(|(_, account)| account))
    }

    /// Ends a sign-in.
    pub(crate) async fn sign_out(&self, value: &Secret) -> Result<(), ApiError> {
        Ok(self.sign_ins.end_sign_in(SecretHash::of(value)).await?)
    }

    /// Changes one's own password and ends one's other sign-ins; false where the old password is wrong.
    pub(crate) async fn change_password(
        &self,
        account: &Account,
        change: PasswordChange,
        kept: &Secret,
    ) -> Result<bool, ApiError> {
        let (person, current) = (Person::Owner(account.id), account.password.clone());
        passwords::check(&change.new, &account.name)?;
        if !passwords::matches(change.old, current, person).await? {
            return Ok(false);
        }
        let hash = passwords::hash(change.new, person).await?;
        let kept = Some(SecretHash::of(kept));
        self.sign_ins.end_other_sign_ins(account.id, kept).await?;
        let verified = account.password.clone();
        let changed = self.set_password(account, hash, verified).await?;
        self.sign_ins.end_other_sign_ins(account.id, kept).await?;
        Ok(changed.is_some())
    }

    /// None where the account is gone, or has another password than the one to replace.
    async fn set_password(
        &self,
        owner: &Account,
        hash: String,
        replaced: Option<String>,
    ) -> Result<Option<Account>, ApiError> {
        let change = AccountChange {
            password: Some(hash),
            if_password: replaced,
            ..AccountChange::default()
        };
        let entry = own_entry(Action::AccountPassword, owner);
        let changed = self.accounts.change_account(owner.id, change, Some(entry));
        Ok(changed.await?)
    }
}

/// What was verified is no longer so.
pub(super) fn sign_in_again() -> ApiError {
    ApiError::Field {
        field: "password",
        problem: "was changed, or the account disabled, in the meantime: sign in again",
    }
}

/// The entry of what a person does with the own account.
pub(super) fn own_entry(action: Action, account: &Account) -> AuditEntry {
    let details = json!({"name": account.name});
    action.entry(&Caller::from(account), target(account), details)
}

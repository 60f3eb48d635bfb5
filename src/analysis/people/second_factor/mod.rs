//! The second factor of accounts with a password: a code by time (`totp`) or a recovery code, asked for once the
//! password was right. People who come by an identity provider are not asked here.
//!
//! - The code is asked for within minutes of the password; what keeps the place is a random value in the form, of which
//!   only the hash is stored. A new password ends it.
//! - A code is used by replacing what the account keeps: of two uses at once, at whichever servers, one counts.
//! - What is stored and cannot be read lets nobody in.

mod factor;
mod totp;

use super::People;
use super::administration::target;
use super::passwords::{self, Person};
use super::refused_sign_ins::{Reason, RefusedSignIn};
use super::sign_ins::{own_entry, sign_in_again};
use crate::analysis::access::caller::Caller;
use crate::analysis::access::token_cache::random_value;
use crate::analysis::audit::Action;
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use factor::{Factor, random};
use monitor_model::Secret;
use monitor_store::{
    Account, AccountChange, AccountId, AuditEntry, BegunSignIn, SecondFactorChange, SecretHash,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use std::net::IpAddr;

/// How long a code is awaited after the password.
const AWAITED_MS: i64 = 10 * 60_000;

/// A secret that its owner's app knows now, what shows that it is the owner, and the sign-in that stays.
pub(crate) struct SetUp<'a> {
    pub(crate) secret: Secret,
    pub(crate) proof: Proof,
    pub(crate) kept: &'a Secret,
}

/// What shows that the owner is there: the password, and a code or a recovery code.
pub(crate) struct Proof {
    pub(crate) password: Secret,
    pub(crate) code: Secret,
}

/// A new secret, in Base32.
pub(crate) fn new_secret() -> Result<Secret, ApiError> {
    let bytes = random::<{ totp::SECRET }>().map_err(|_| ApiError::Internal)?;
    Ok(Secret::new(totp::base32(&bytes)))
}

/// The address that authenticator apps take a secret from.
pub(crate) fn key_uri(secret: &Secret, account: &Account, host: &str) -> Secret {
    let label = format!("Monitor Gateway:{}@{host}", account.name);
    let label = utf8_percent_encode(&label, NON_ALPHANUMERIC);
    let secret = secret.expose();
    Secret::new(format!(
        "otpauth://totp/{label}?secret={secret}&issuer=Monitor%20Gateway"
    ))
}

/// Whether a text is a secret that this module made.
pub(crate) fn is_secret(secret: &Secret) -> bool {
    Factor::new(secret).is_some()
}

/// Recovery codes that are left.
pub(crate) fn recovery_codes(account: &Account) -> usize {
    let factor = account.second_factor.as_deref().and_then(Factor::read);
    factor.map_or(0, |factor| factor.recovery_codes())
}

impl People {
    /// Begins a sign-in whose password was right; gives the value by which the code continues it.
    pub(crate) async fn await_code(&self, account: &Account) -> Result<Secret, ApiError> {
        let value = random_value().map_err(|_| ApiError::Internal)?;
        let now_ms = now_ms();
        let begun = BegunSignIn {
            account: account.id,
            ends_at_ms: now_ms.saturating_add(AWAITED_MS),
        };
        let (hash, password) = (SecretHash::of(&value), account.password.as_deref());
        let added = self
            .sign_ins
            .add_begun_sign_in(hash, begun, password, now_ms);
        match added.await? {
            true => Ok(value),
            false => Err(sign_in_again()),
        }
    }

    /// The account whose code is awaited under this value.
    pub(crate) async fn awaited(&self, value: &Secret) -> Result<Option<Account>, ApiError> {
        let hash = SecretHash::of(value);
        let Some(id) = self.sign_ins.begun_sign_in(hash, now_ms()).await? else {
            return Ok(None);
        };
        let account = self.accounts.account(id).await?;
        Ok(account.filter(|account| account.disabled_at_ms.is_none()))
    }

    /// Uses a code for the sign-in that was begun under this value; false for every reason alike.
    pub(crate) async fn use_code(
        &self,
        value: &Secret,
        account: &Account,
        code: &Secret,
        address: Option<IpAddr>,
    ) -> Result<bool, ApiError> {
        let Some((change, entry)) = with_code_used(account, code) else {
            self.refused_sign_ins.note(&RefusedSignIn {
                reason: Reason::WrongCode,
                account: Some(account),
                person: None,
                address,
            });
            return Ok(false);
        };
        let changed = self.accounts.change_account(account.id, change, entry);
        if changed.await?.is_none() {
            return Ok(false);
        }
        // A new password has taken it away.
        let hash = SecretHash::of(value);
        Ok(self.sign_ins.take_begun_sign_in(hash).await?)
    }

    /// Gives one's own account a second factor and ends one's other sign-ins; returns the recovery codes. None where
    /// the password or the code is wrong, or the account has a second factor.
    pub(crate) async fn turn_on_second_factor(
        &self,
        account: &Account,
        set_up: SetUp<'_>,
    ) -> Result<Option<Vec<Secret>>, ApiError> {
        let Proof { password, code } = set_up.proof;
        let (person, hash) = (Person::Owner(account.id), account.password.clone());
        // Whoever finds an open browser shuts nobody out.
        if !passwords::matches(password, hash, person).await? {
            return Ok(None);
        }
        let new = Factor::new(&set_up.secret);
        let used = new.and_then(|factor| factor.after(&code, now_ms()));
        let Some(mut used) = used else {
            return Ok(None);
        };
        let codes = used.factor.renew_recovery_codes();
        let codes = codes.map_err(|_| ApiError::Internal)?;
        let change = replacing(None, Some(used.factor.write()));
        let entry = own_entry(Action::AccountSecondFactorOn, account);
        let changed = self
            .accounts
            .change_account(account.id, change, Some(entry));
        if changed.await?.is_none() {
            return Ok(None);
        }
        let kept = Some(SecretHash::of(set_up.kept));
        self.sign_ins.end_other_sign_ins(account.id, kept).await?;
        Ok(Some(codes))
    }

    /// Takes the second factor from one's own account; false where the password or the code is wrong.
    pub(crate) async fn turn_off_second_factor(
        &self,
        account: &Account,
        proof: Proof,
    ) -> Result<bool, ApiError> {
        let (person, hash) = (Person::Owner(account.id), account.password.clone());
        let is_right = passwords::matches(proof.password, hash, person).await?;
        if !is_right || with_code_used(account, &proof.code).is_none() {
            return Ok(false);
        }
        let entry = own_entry(Action::AccountSecondFactorOff, account);
        Ok(self.remove_factor(account, entry).await?.is_some())
    }

    /// Takes the second factor from somebody's account, whose owner has lost it.
    pub(crate) async fn remove_second_factor(
        &self,
        caller: &Caller,
        id: AccountId,
    ) -> Result<(), ApiError> {
        let account = self.accounts.account(id).await?.ok_or(ApiError::NotFound)?;
        let details = json!({"name": account.name});
        let action = Action::AccountSecondFactorOff;
        let entry = action.entry(caller, target(&account), details);
        match account.second_factor.is_some() {
            true => self.remove_factor(&account, entry).await.map(drop),
            false => Ok(()),
        }
    }

    /// Like [`People::remove_second_factor`], by the name of the account.
    ///
    /// # Errors
    /// [`ApiError`]: no such account, store.
    pub async fn remove_second_factor_of(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<(), ApiError> {
        let name = name.trim().to_lowercase();
        let account = self.accounts.account_named(&name).await?;
        let account = account.ok_or(FieldProblem::new("name", "no account has this name"))?;
        self.remove_second_factor(caller, account.id).await
    }

    async fn remove_factor(
        &self,
        account: &Account,
        entry: AuditEntry,
    ) -> Result<Option<Account>, ApiError> {
        let change = replacing(account.second_factor.clone(), None);
        let changed = self
            .accounts
            .change_account(account.id, change, Some(entry));
        Ok(changed.await?)
    }
}

/// What using a code changes, with the entry of a recovery code; None where the code is wrong.
fn with_code_used(account: &Account, code: &Secret) -> Option<(AccountChange, Option<AuditEntry>)> {
    let stored = account.second_factor.clone()?;
    let used = Factor::read(&stored)?.after(code, now_ms())?;
    let entry = used.by_recovery_code.then(|| {
        let details = json!({"name": account.name, "left": used.factor.recovery_codes()});
        Action::AccountRecoveryCode.entry(&Caller::from(account), target(account), details)
    });
    Some((replacing(Some(stored), Some(used.factor.write())), entry))
}

fn replacing(replaced: Option<String>, new: Option<String>) -> AccountChange {
    AccountChange {
        second_factor: Some(SecondFactorChange { replaced, new }),
        ..AccountChange::default()
    }
}

//! Sign-ins of people, and the one-time links that let them set a password. The store holds only the
//! SHA-256 hash of a link's or a session cookie's value.

use crate::error::StoreError;
use crate::people::accounts::{Account, AccountId};
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;
use monitor_model::Secret;
use sha2::{Digest, Sha256};

/// SHA-256 of the value of a link or a sign-in. Values are random, so that no salt is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecretHash(pub [u8; 32]);

impl SecretHash {
    /// The hash under which a value is stored.
    pub fn of(value: &Secret) -> Self {
        Self(Sha256::digest(value.expose().as_bytes()).into())
    }
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// The account that is signed in.
    pub account: AccountId,
    /// When the person signed in, milliseconds since 1970.
    pub started_at_ms: i64,
    /// When the browser last requested a page, to the minute.
    pub seen_at_ms: i64,
    /// Whether it began with the account's password, not at an identity provider.
    pub by_password: bool,
    /// The address that it began from, if known.
    pub address: Option<String>,
    /// The browser that it began in, in a few words of the program's, if known.
    pub browser: Option<String>,
}

/// A sign-in with the hash by which it is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSignIn {
    /// The hash of its cookie's value.
    pub hash: SecretHash,
    /// What is known about it.
    pub sign_in: SignIn,
}

/// A sign-in whose password was right and whose code is still awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunSignIn {
    /// The account whose password it was.
    pub account: AccountId,
    /// Until when the code is awaited, milliseconds since 1970.
    pub ends_at_ms: i64,
}

/// Which sign-ins of an account end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedSignIns {
    /// The one with this hash.
    One(SecretHash),
    /// All except this one, and what was begun.
    Others(Option<SecretHash>),
}

/// One-time links and sign-ins.
#[async_trait]
pub trait SignInStore: Send + Sync {
    /// Adds a one-time link for an account.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn add_link(
        &self,
        hash: SecretHash,
        account: AccountId,
        ends_at_ms: i64,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError>;

    /// The account of a link that has not expired.
    async fn link(&self, hash: SecretHash, now_ms: i64) -> Result<Option<AccountId>, StoreError>;

    /// Like [`SignInStore::link`], but also removes the link: of concurrent callers only one gets the account.
    async fn take_link(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError>;

    /// Adds a sign-in of an account whose password hash is still `password`, and removes those last seen before
    /// `stale_ms`. False, and nothing is added, if the account has another password or is disabled.
    async fn add_sign_in(
        &self,
        hash: SecretHash,
        sign_in: SignIn,
        password: Option<&str>,
        stale_ms: i64,
    ) -> Result<bool, StoreError>;

    /// The sign-in with this hash, and its account.
    async fn sign_in(&self, hash: SecretHash) -> Result<Option<(SignIn, Account)>, StoreError>;

    /// Moves the time when a sign-in was last seen forward to `seen_at_ms`.
    async fn touch_sign_in(&self, hash: SecretHash, seen_at_ms: i64) -> Result<(), StoreError>;

    /// Ends the sign-in with this hash.
    async fn end_sign_in(&self, hash: SecretHash) -> Result<(), StoreError>;

    /// Ends every sign-in of an account except `kept`.
    async fn end_other_sign_ins(
        &self,
        account: AccountId,
        kept: Option<SecretHash>,
    ) -> Result<(), StoreError>;

    /// Sign-ins of an account that were seen at `since_ms` or later, the latest seen first.
    async fn open_sign_ins(
        &self,
        account: AccountId,
        since_ms: i64,
        limit: u32,
    ) -> Result<Vec<OpenSignIn>, StoreError>;

    /// Ends sign-ins of an account; false, without an entry, if there was none of them.
    async fn end_sign_ins(
        &self,
        account: AccountId,
        ended: EndedSignIns,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError>;

    /// Adds a begun sign-in of an account whose password hash is still `password`, and removes those that are over at
    /// `now_ms`. False, and nothing is added, if the account has another password or is disabled. A new password and
    /// disabling remove the begun sign-ins of an account.
    async fn add_begun_sign_in(
        &self,
        hash: SecretHash,
        begun: BegunSignIn,
        password: Option<&str>,
        now_ms: i64,
    ) -> Result<bool, StoreError>;

    /// The account of a begun sign-in that is not over.
    async fn begun_sign_in(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError>;

    /// Removes a begun sign-in; false if it was removed before.
    async fn take_begun_sign_in(&self, hash: SecretHash) -> Result<bool, StoreError>;

    /// Takes the state of a sign-in by the identity provider; false if it was taken before, at whichever server.
    async fn take_state(
        &self,
        hash: SecretHash,
        now_ms: i64,
        remembered: TakenStates,
    ) -> Result<bool, StoreError>;
}

/// Which taken states are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenStates {
    /// Those taken since then, milliseconds since 1970.
    pub since_ms: i64,
    /// So many of them, the newest.
    pub most: u32,
}

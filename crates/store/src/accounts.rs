//! People who sign in to the web UI: accounts, one-time links and sign-ins. A password is here as its
//! Argon2id hash, the value of a link or of a sign-in as its SHA-256. Users of the applications are
//! not these: they are names in records (§2.7 `user_id`).

use super::StoreError;
use async_trait::async_trait;
use monitor_model::{ApplicationId, Secret};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Identifies an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccountId(pub Uuid);

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything, accounts too.
    Administrator,
    /// Reads records.
    Analyst,
    /// Applications and tokens, no records.
    Developer,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Administrator, Self::Analyst, Self::Developer];

    /// The word in the store and in forms.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Analyst => "analyst",
            Self::Developer => "developer",
        }
    }

    /// The role of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// A person's account.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Its identifier.
    pub id: AccountId,
    /// What its owner signs in with, in lower case; no two accounts have the same.
    pub name: String,
    /// What its owner may do.
    pub role: Role,
    /// The only application its owner sees; None for all.
    pub application_id: Option<ApplicationId>,
    /// The password's hash in PHC form; None until one is set.
    pub password: Option<String>,
    /// When it was made, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Since when nobody can sign in with it.
    pub disabled_at_ms: Option<i64>,
    /// When its owner last signed in.
    pub signed_in_at_ms: Option<i64>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account")
            .field("id", &self.id)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// What is to change of an account; None leaves it.
#[derive(Clone, Default)]
pub struct AccountChange {
    /// Its role.
    pub role: Option<Role>,
    /// Its password's hash. Ends every link of the account.
    pub password: Option<String>,
    /// Since when it is disabled; Some(None) enables it. Disabling ends every sign-in of it.
    pub disabled_at_ms: Option<Option<i64>>,
    /// When its owner last signed in.
    pub signed_in_at_ms: Option<i64>,
}

/// SHA-256 of the value of a link or of a sign-in. Both are random, so that no salt is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecretHash(pub [u8; 32]);

impl SecretHash {
    /// The hash under which a value is kept.
    pub fn of(value: &Secret) -> Self {
        Self(Sha256::digest(value.expose().as_bytes()).into())
    }
}

/// A browser that is signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Whose.
    pub account: AccountId,
    /// Since when, milliseconds since 1970.
    pub started_at_ms: i64,
    /// Its latest page, to the minute.
    pub seen_at_ms: i64,
}

/// By what an identity provider knows a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider's address, as its tokens say it.
    pub issuer: String,
    /// Its name for the person, which never changes.
    pub subject: String,
}

/// Accounts, links and sign-ins.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Adds an account; false where the name is taken.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; so for every method here.
    async fn add_account(&self, account: Account) -> Result<bool, StoreError>;

    /// Accounts in the order of their names, those after `after`.
    async fn accounts(&self, after: Option<&str>, limit: u32) -> Result<Vec<Account>, StoreError>;

    /// One account.
    async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError>;

    /// The account of a name.
    async fn account_named(&self, name: &str) -> Result<Option<Account>, StoreError>;

    /// Changes an account; gives it as it is now, None where there is none.
    async fn change_account(
        &self,
        id: AccountId,
        change: AccountChange,
    ) -> Result<Option<Account>, StoreError>;

    /// Keeps a one-time link of an account.
    async fn add_link(
        &self,
        hash: SecretHash,
        account: AccountId,
        ends_at_ms: i64,
    ) -> Result<(), StoreError>;

    /// Whose link this is, if it has not ended.
    async fn link(&self, hash: SecretHash, now_ms: i64) -> Result<Option<AccountId>, StoreError>;

    /// As [`AccountStore::link`], and of any number of callers one alone is told: the link is gone.
    async fn take_link(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError>;

    /// Keeps a sign-in, and forgets those that were last seen before `stale_ms`.
    async fn add_sign_in(
        &self,
        hash: SecretHash,
        sign_in: SignIn,
        stale_ms: i64,
    ) -> Result<(), StoreError>;

    /// The sign-in of a value, with its account.
    async fn sign_in(&self, hash: SecretHash) -> Result<Option<(SignIn, Account)>, StoreError>;

    /// Notes a page of it.
    async fn touch_sign_in(&self, hash: SecretHash, seen_at_ms: i64) -> Result<(), StoreError>;

    /// Ends one.
    async fn end_sign_in(&self, hash: SecretHash) -> Result<(), StoreError>;

    /// The account of an identity.
    async fn account_of(&self, identity: &Identity) -> Result<Option<Account>, StoreError>;

    /// Gives an identity to an account that has none of its issuer yet; false where it has one, and
    /// where the identity has an account already, which it keeps.
    async fn add_identity(
        &self,
        identity: Identity,
        account: AccountId,
    ) -> Result<bool, StoreError>;

    /// Ends all of an account but one.
    async fn end_other_sign_ins(
        &self,
        account: AccountId,
        kept: Option<SecretHash>,
    ) -> Result<(), StoreError>;
}

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn roles_keep_their_names() {
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.as_str()), Some(role));
        }
        assert_eq!(Role::from_name("owner"), None);
    }
}

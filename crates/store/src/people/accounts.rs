//! Accounts of the people who use the web UI. A password is stored as its Argon2id hash. The end users of
//! the applications are not accounts: they are names in records (§2.7 `user_id`).

use crate::error::StoreError;
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use uuid::Uuid;

/// Identifies an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccountId(pub Uuid);

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything, including accounts.
    Administrator,
    /// Reads records and decides about findings; changes nothing else.
    Analyst,
    /// Reads records without their original texts and files, and decides about findings; changes nothing else.
    Reviewer,
    /// Manages applications and tokens; reads no records.
    Developer,
}

impl Role {
    /// All roles, in the order in which forms offer them.
    pub const ALL: [Self; 4] = [
        Self::Administrator,
        Self::Analyst,
        Self::Reviewer,
        Self::Developer,
    ];

    /// The word in the store and in forms.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Analyst => "analyst",
            Self::Reviewer => "reviewer",
            Self::Developer => "developer",
        }
    }

    /// The role that this word names.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// A person's account.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Never changes, unlike the name.
    pub id: AccountId,
    /// The sign-in name, in lower case; unique.
    pub name: String,
    /// What its owner may do.
    pub role: Role,
    /// The only application its owner sees; None means all applications.
    pub application_id: Option<ApplicationId>,
    /// The password hash in PHC format; None until a password is set.
    pub password: Option<String>,
    /// The second factor with its secret, which only the program reads; None: a password is enough.
    pub second_factor: Option<String>,
    /// When it was created, milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it was disabled, milliseconds since 1970; nobody can sign in with it since then.
    pub disabled_at_ms: Option<i64>,
    /// When its owner last signed in, milliseconds since 1970.
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

/// The fields of an account to change; None leaves a field as it is.
#[derive(Clone, Default)]
pub struct AccountChange {
    /// The new role.
    pub role: Option<Role>,
    /// The new password hash. Setting it invalidates every one-time link of the account.
    pub password: Option<String>,
    /// Nothing is changed unless the password hash is still this one.
    pub if_password: Option<String>,
    /// When it was disabled; Some(None) enables it. Disabling ends every sign-in of the account.
    pub disabled_at_ms: Option<Option<i64>>,
    /// When its owner last signed in, milliseconds since 1970.
    pub signed_in_at_ms: Option<i64>,
    /// Another second factor.
    pub second_factor: Option<SecondFactorChange>,
}

/// Another second factor of an account. Nothing is changed unless the account still has the replaced one: of two
/// that use the same code at once, one does.
#[derive(Clone)]
pub struct SecondFactorChange {
    /// What the account has; None for none.
    pub replaced: Option<String>,
    /// What it gets; None for none.
    pub new: Option<String>,
}

/// How an identity provider identifies a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The issuer URL of the provider, as its tokens state it.
    pub issuer: String,
    /// The provider's identifier of the person, which never changes.
    pub subject: String,
}

/// Accounts and the identities that belong to them.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Adds an account; false if the name is taken.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn add_account(
        &self,
        account: Account,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError>;

    /// Accounts whose names sort after `after`, ordered by name.
    async fn accounts(&self, after: Option<&str>, limit: u32) -> Result<Vec<Account>, StoreError>;

    /// The account with this identifier.
    async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError>;

    /// The account with this name.
    async fn account_named(&self, name: &str) -> Result<Option<Account>, StoreError>;

    /// Changes an account and returns its new state; None if it does not exist, or has another password or second
    /// factor than the one to replace.
    async fn change_account(
        &self,
        id: AccountId,
        change: AccountChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Account>, StoreError>;

    /// The account that an identity belongs to.
    async fn account_of(&self, identity: &Identity) -> Result<Option<Account>, StoreError>;

    /// Links an identity to an account. Returns false, and changes nothing, if the account already has
    /// an identity of this issuer or the identity already belongs to an account.
    async fn add_identity(
        &self,
        identity: Identity,
        account: AccountId,
    ) -> Result<bool, StoreError>;
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

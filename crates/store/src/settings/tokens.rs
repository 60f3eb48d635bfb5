//! Bearer tokens (CONTRACT 30). The store holds the hash of a token's value, never the value.

use crate::error::StoreError;
use crate::settings::audit::AuditEntry;
use crate::settings::token_id::TokenId;
use async_trait::async_trait;
use monitor_model::{ApplicationId, Secret};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// SHA-256 of a token's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash under which a token is stored. Tokens are random, so that no salt is needed.
    pub fn of(value: &Secret) -> Self {
        Self(Sha256::digest(value.expose().as_bytes()).into())
    }
}

/// What a token lets its bearer do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Scope {
    /// Have messages analyzed and recorded.
    Ingest,
    /// Read records and what is computed from them.
    Read,
    /// Change applications and tokens.
    Admin,
    /// Read records without their original texts and files; [`Scope::Read`] includes it.
    ReadCleaned,
    /// Decide about findings; [`Scope::Read`] and [`Scope::Admin`] together include it.
    Triage,
}

impl Scope {
    /// All scopes, in the order of their bits.
    pub const ALL: [Self; 5] = [
        Self::Ingest,
        Self::Read,
        Self::Admin,
        Self::ReadCleaned,
        Self::Triage,
    ];
    /// Those that together allow everything.
    pub const FULL: [Self; 3] = [Self::Ingest, Self::Read, Self::Admin];

    /// The word used on the command line and in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Admin => "admin",
            Self::ReadCleaned => "read_cleaned",
            Self::Triage => "triage",
        }
    }

    /// The scope that this word names.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }

    fn bit(self) -> u8 {
        match self {
            Self::Ingest => 1,
            Self::Read => 2,
            Self::Admin => 4,
            Self::ReadCleaned => 8,
            Self::Triage => 16,
        }
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// The set with these members.
    pub fn of(scopes: &[Scope]) -> Self {
        Self(scopes.iter().fold(0, |bits, scope| bits | scope.bit()))
    }

    /// Whether the set contains this scope.
    pub fn allow(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// The words of its members.
    pub fn names(self) -> Vec<&'static str> {
        let members = Scope::ALL.into_iter().filter(|scope| self.allow(*scope));
        members.map(Scope::as_str).collect()
    }

    pub(crate) fn bits(self) -> i64 {
        i64::from(self.0)
    }

    pub(crate) fn from_bits(bits: i64) -> Self {
        let known = i64::from(Self::of(&Scope::ALL).0);
        Self((bits & known) as u8)
    }
}

/// A bearer token as it is stored.
#[derive(Clone, Debug)]
pub struct Token {
    /// Names the token in lists and in the audit log.
    pub id: TokenId,
    /// Shown to people; need not be unique.
    pub name: String,
    /// What it allows.
    pub scopes: Scopes,
    /// The only application it may be used for; None means any application.
    pub application_id: Option<ApplicationId>,
    /// When it was created, milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it expires, milliseconds since 1970; None means never.
    pub expires_at_ms: Option<i64>,
    /// When it was revoked, milliseconds since 1970.
    pub revoked_at_ms: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_at_ms: Option<i64>,
}

impl Token {
    /// Whether it may be used at this time.
    pub fn is_valid_at(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && self.expires_at_ms.is_none_or(|end| now_ms < end)
    }
}

/// The fields of a token to change; None leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct TokenChange {
    /// The new name.
    pub name: Option<String>,
    /// When it expires; Some(None) means never.
    pub expires_at_ms: Option<Option<i64>>,
    /// Revokes the token as of this time; a revoked token stays revoked.
    pub revoked_at_ms: Option<i64>,
}

/// A token that takes the place of another one.
#[derive(Clone, Debug)]
pub struct TokenRotation {
    /// The token that is replaced.
    pub old: TokenId,
    /// When the old one ends, milliseconds since 1970.
    pub old_ends_at_ms: i64,
    /// The hash of the new one.
    pub hash: TokenHash,
    /// The new one.
    pub new: Token,
}

/// Bearer tokens of all applications.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Whether any token was ever created, removed ones included.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn has_tokens(&self) -> Result<bool, StoreError>;

    /// The token with this hash, even if it is expired or revoked.
    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError>;

    /// The token with this identifier, even if it is expired or revoked.
    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError>;

    /// All tokens, expired and revoked ones included, newest first; those after the token that `before`
    /// names (`created_at_ms` and id of the last one of the previous page).
    async fn tokens(
        &self,
        application: Option<ApplicationId>,
        before: Option<(i64, TokenId)>,
        limit: u32,
    ) -> Result<Vec<Token>, StoreError>;

    /// Adds a token; leaves an existing token with the same hash as it is.
    async fn add_token(
        &self,
        hash: TokenHash,
        token: Token,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError>;

    /// Changes a token and returns its new state; None if it does not exist.
    async fn change_token(
        &self,
        id: TokenId,
        change: TokenChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Token>, StoreError>;

    /// Adds the new token and ends the old one, no later than it would end anyway, atomically; false, and nothing is
    /// changed, if the old one is not valid when the new one is made.
    async fn rotate_token(
        &self,
        rotation: TokenRotation,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError>;

    /// Notes that a token was used at this time, milliseconds since 1970. Never waits; the note may be
    /// lost under load.
    fn touch_token(&self, id: TokenId, used_at_ms: i64);
}

#[cfg(test)]
mod tests {
    use super::{Scope, Scopes};

    #[test]
    fn scopes_keep_their_members_through_the_store() {
        for set in [
            &[Scope::Ingest][..],
            &[Scope::Read, Scope::Admin],
            &Scope::ALL,
            &[],
        ] {
            let back = Scopes::from_bits(Scopes::of(set).bits());
            for scope in Scope::ALL {
                assert_eq!(
                    back.allow(scope),
                    set.contains(&scope),
                    "{}",
                    scope.as_str()
                );
            }
        }
    }

    #[test]
    fn a_bit_of_a_later_version_gives_no_scope() {
        assert_eq!(Scopes::from_bits(32), Scopes::of(&[]));
    }
}

//! Applications and tokens (CONTRACT 30 and 38). A token's value is not here: only its hash is kept.

use crate::model::{ApplicationId, Secret};
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// An application registered at the backend.
#[derive(Clone, Debug)]
pub struct Application {
    /// Its identifier.
    pub id: ApplicationId,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// When it was made, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Counts the changes of `rules`, from 1.
    pub rules_version: i64,
    /// The rules as JSON; the analysis knows their shape.
    pub rules: Value,
}

/// Identifies a token without being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenId(pub Uuid);

/// SHA-256 of a token's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash under which a token is kept. Tokens are random, so that no salt is needed.
    pub fn of(value: &Secret) -> Self {
        Self(Sha256::digest(value.expose().as_bytes()).into())
    }
}

/// What a token lets its bearer do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Have messages analysed and recorded.
    Ingest,
    /// Read records.
    Read,
    /// Change applications and tokens.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Ingest, Self::Read, Self::Admin];

    /// The word used on the command line and in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    /// The scope of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }

    fn bit(self) -> u8 {
        match self {
            Self::Ingest => 1,
            Self::Read => 2,
            Self::Admin => 4,
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

    /// Whether the set has this member.
    pub fn allow(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    pub(crate) fn bits(self) -> i64 {
        i64::from(self.0)
    }

    pub(crate) fn from_bits(bits: i64) -> Self {
        let known = i64::from(Self::of(&Scope::ALL).0);
        Self((bits & known) as u8)
    }
}

/// A bearer token as it is kept.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its identifier.
    pub id: TokenId,
    /// For people.
    pub name: String,
    /// What it allows.
    pub scopes: Scopes,
    /// The only application it may be used for; None for any.
    pub application_id: Option<ApplicationId>,
    /// When it was made, milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it ends; None for never.
    pub expires_at_ms: Option<i64>,
    /// When it was revoked.
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
        assert_eq!(Scopes::from_bits(8), Scopes::of(&[]));
    }
}

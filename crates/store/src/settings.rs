//! Applications and tokens (CONTRACT 30 and 38). A token's value is not here: only its hash is kept.

use super::search::folded;
use monitor_model::{ApplicationId, Policy, PolicyProblems, Secret};
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
    /// When it was last changed, milliseconds since 1970.
    pub updated_at_ms: i64,
    /// Counts the changes of everything below, from 1; a record names the one that judged it.
    pub version: i64,
    /// The rules as JSON; the analysis knows their shape.
    pub rules: Value,
    /// The gateway's policy (§2.5); None: none, calls are async. Err where another program wrote what
    /// cannot be read.
    pub policy: Option<Result<Policy, PolicyProblems>>,
}

/// What an application is changed to, whole.
#[derive(Clone, Debug)]
pub struct ApplicationChange {
    /// The application.
    pub id: ApplicationId,
    /// The version the change was made from; another one in the store refuses it (CONTRACT 38).
    pub expected_version: i64,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// The rules as JSON.
    pub rules: Value,
    /// The policy, checked by the caller; None takes it away.
    pub policy: Option<Policy>,
    /// When, milliseconds since 1970.
    pub changed_at_ms: i64,
    /// Who: a token's or a person's name.
    pub changed_by: String,
}

/// What a change of an application came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is in the store under this version.
    Done(i64),
    /// The store holds this other version; nothing was changed.
    Conflict(i64),
    /// There is no such application.
    Unknown,
}

/// One version of an application as it was (CONTRACT 38). The latest is the application's own.
#[derive(Clone, Debug)]
pub struct ApplicationVersion {
    /// From 1.
    pub version: i64,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// The rules as JSON.
    pub rules: Value,
    /// The policy as JSON.
    pub policy: Option<Value>,
    /// When it was made, milliseconds since 1970.
    pub changed_at_ms: i64,
    /// Who made it.
    pub changed_by: String,
}

/// Which names a list is narrowed to, in any letter case of any alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameFilter {
    /// Names that hold this text.
    Part(String),
    /// Names that are this text, white space around either left aside.
    Whole(String),
}

impl NameFilter {
    /// Whether a name is among them. Asked here and not in a database, whose letter case follows its
    /// locale or knows ASCII alone.
    pub fn takes(&self, name: &str) -> bool {
        match self {
            Self::Part(text) => folded(name).contains(&folded(text)),
            Self::Whole(text) => folded(name.trim()) == folded(text.trim()),
        }
    }
}

/// Which applications a list shows, in the order they were made.
#[derive(Clone, Debug, Default)]
pub struct ApplicationFilter {
    /// Only this one: what a bound token may see.
    pub id: Option<ApplicationId>,
    /// Only these names.
    pub name: Option<NameFilter>,
    /// Only applications made after the one with this place ([`ApplicationPage::next_after`]).
    pub after: Option<i64>,
    /// Applications per page, from 1.
    pub limit: u32,
}

/// One page of applications.
#[derive(Clone, Debug)]
pub struct ApplicationPage {
    /// Oldest first.
    pub applications: Vec<Application>,
    /// [`ApplicationFilter::after`] of the next page; None when this is the last one.
    pub next_after: Option<i64>,
}

/// What is changed of a token; None leaves it.
#[derive(Clone, Debug, Default)]
pub struct TokenChange {
    /// Its name.
    pub name: Option<String>,
    /// When it ends; Some(None) for never.
    pub expires_at_ms: Option<Option<i64>>,
    /// Revokes it at this time; a revoked token stays so.
    pub revoked_at_ms: Option<i64>,
}

/// One line of the audit log: who did what to what. Never a token's value, a message or a phrase.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// Place in the log; 0 in an entry that is not stored yet.
    pub seq: i64,
    /// When, milliseconds since 1970.
    pub at_ms: i64,
    /// The token's or the person's name.
    pub actor: String,
    /// The token that was used.
    pub token_id: Option<TokenId>,
    /// Verb and noun, such as `application.change`.
    pub action: String,
    /// The identifier of what was acted on.
    pub target: String,
    /// The application concerned.
    pub application_id: Option<ApplicationId>,
    /// More, as JSON: versions, counts, names of changed fields.
    pub details: Value,
}

/// Which entries of the audit log a list shows, newest first.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only what this person, or a token of this name, did.
    pub actor: Option<String>,
    /// Only this action.
    pub action: Option<String>,
    /// Only entries before this [`AuditEntry::seq`].
    pub before: Option<i64>,
    /// Entries per page, from 1.
    pub limit: u32,
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

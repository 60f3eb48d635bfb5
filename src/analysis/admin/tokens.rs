//! Creating, changing, rotating and revoking tokens (CONTRACT 30). A value is returned once, by the call
//! that creates it, and stored nowhere. `access::caller` decides who may do it.

use super::Admin;
use crate::analysis::access::caller::Caller;
use crate::analysis::access::token_cache::{new_token, random_value};
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use crate::analysis::text_checks::check_name;
use monitor_model::{ApplicationId, Secret};
use monitor_store::{
    AuditEntry, Scope, Scopes, Token, TokenChange, TokenHash, TokenId, TokenRotation,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The latest possible end of a token: the year 9999.
pub(crate) const LATEST_MS: i64 = 253_402_300_799_999;

/// An application may have so many times as many keys with those that are over, which stay in the store.
const WITH_ENDED: usize = 10;

/// How long an old value may stay valid next to its replacement.
const LONGEST_GRACE: Duration = Duration::from_secs(30 * 86_400);

/// When a token ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Only when it is revoked.
    Never,
    /// Milliseconds since 1970.
    At(i64),
    /// After this time from now.
    In(Duration),
}

/// A token to be created.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// For people, 1 to 200 characters.
    pub name: String,
    /// At least one; each must be a scope of the maker.
    pub scopes: Scopes,
    /// The only application it is valid for; None stands for the one its maker is bound to.
    pub application_id: Option<ApplicationId>,
    /// When it ends.
    pub expiry: Expiry,
}

/// A token with its value, which is shown this once.
#[derive(Clone, Debug)]
pub struct CreatedToken {
    /// The token as stored.
    pub token: Token,
    /// The value that its bearer sends.
    pub value: Secret,
}

/// How a token is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// How long the old value stays valid next to the new one; zero ends it at once.
    pub grace: Duration,
    /// When the new one ends; None stands for the end of the old one.
    pub expiry: Option<Expiry>,
}

/// A change of a token; None leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenEdit {
    pub(crate) name: Option<String>,
    pub(crate) expiry: Option<Expiry>,
}

/// The position of a page of tokens: `created_at_ms` and id of the last token of the page before.
pub type TokenPosition = (i64, TokenId);

impl Admin {
    /// Creates a token.
    ///
    /// # Errors
    /// [`ApiError`]: fields, scopes or an application that the caller does not have, store.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: NewToken,
    ) -> Result<CreatedToken, ApiError> {
        let application = caller.narrow(new.application_id)?;
        caller.must_own(new.scopes)?;
        let mut problems: Vec<_> = check_name(&new.name).err().into_iter().collect();
        problems.extend(check_scopes(new.scopes).err());
        let mut token = new_token(new.name, new.scopes, application);
        match end(new.expiry, token.created_at_ms) {
            Ok(end) => token.expires_at_ms = end,
            Err(problem) => problems.push(problem),
        }
        if let Some(id) = application
            && self.applications.application(id).await?.is_none()
        {
            problems.push(FieldProblem::new(
                "application_id",
                "no application has this id",
            ));
        }
        if !problems.is_empty() {
            return Err(ApiError::Fields(problems));
        }
        let _alone = self.key_locks.lock(application).await?;
        self.must_have_room_for(&token, 0).await?;
        let value = new_value()?;
        let action = self.audit.admit(caller, Action::TokenCreate)?;
        let entry = action.entry(caller, target(&token), described(&token));
        self.token_cache
            .add(&value, token.clone(), Some(entry))
            .await?;
        Ok(CreatedToken { token, value })
    }

    /// One page, newest first, and the position of the next one. A bound caller sees the tokens that are
    /// bound to its application.
    ///
    /// # Errors
    /// [`ApiError`]: another application, store.
    pub async fn list_tokens(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
        before: Option<TokenPosition>,
        limit: u32,
    ) -> Result<(Vec<Token>, Option<TokenPosition>), ApiError> {
        let application = caller.narrow(application)?;
        let asked = limit.saturating_add(1);
        let tokens = self.tokens.clone();
        let read = async move { tokens.tokens(application, before, asked).await };
        let mut tokens = self.reads.read(caller, read).await?;
        let is_last = tokens.len() <= limit as usize;
        tokens.truncate(limit as usize);
        let next = tokens.last().map(|token| (token.created_at_ms, token.id));
        Ok((tokens, next.filter(|_| !is_last)))
    }

    /// A token that the caller can see.
    pub(crate) async fn find_token(&self, caller: &Caller, id: TokenId) -> Result<Token, ApiError> {
        let tokens = self.tokens.clone();
        let read = async move { tokens.token_by_id(id).await };
        let token = self.reads.look_up(caller, read).await?;
        token
            .filter(|token| caller.sees(token.application_id))
            .ok_or(ApiError::NotFound)
    }

    /// Changes a token's name or end.
    pub(crate) async fn change_token(
        &self,
        caller: &Caller,
        id: TokenId,
        edit: TokenEdit,
    ) -> Result<Token, ApiError> {
        let mut token = self.find_token(caller, id).await?;
        // A longer life is granted like a new token.
        caller.must_own(token.scopes)?;
        let mut problems = Vec::new();
        problems.extend(edit.name.as_deref().and_then(|name| check_name(name).err()));
        let expires_at_ms = edit.expiry.map(|expiry| end(expiry, now_ms())).transpose();
        let expires_at_ms = expires_at_ms.unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        if !problems.is_empty() {
            return Err(ApiError::Fields(problems));
        }
        let bound = token.application_id.filter(|_| expires_at_ms.is_some());
        let _alone = self.key_locks.lock(bound).await?;
        if let Some(application) = bound {
            // One that is over, perhaps since it waited, and becomes valid again is one more.
            token = self.find_token(caller, id).await?;
            let now_ms = now_ms();
            if token.revoked_at_ms.is_none() && !token.is_valid_at(now_ms) {
                self.room_of(application, now_ms, 0).await?;
            }
        }
        let change = TokenChange {
            name: edit.name,
            expires_at_ms,
            revoked_at_ms: None,
        };
        let details = json!({
            "changed": changed(&token, &change),
            "expires_at_ms": change.expires_at_ms.unwrap_or(token.expires_at_ms),
        });
        let action = self.audit.admit(caller, Action::TokenChange)?;
        let entry = action.entry(caller, target(&token), details);
        self.apply(id, change, entry).await
    }

    /// Revokes a token for good; one that is revoked stays as it is.
    ///
    /// # Errors
    /// [`ApiError`]: unknown id, store.
    pub async fn revoke_token(&self, caller: &Caller, id: TokenId) -> Result<Token, ApiError> {
        let token = self.find_token(caller, id).await?;
        if token.revoked_at_ms.is_some() {
            return Ok(token);
        }
        let change = TokenChange {
            revoked_at_ms: Some(now_ms()),
            ..TokenChange::default()
        };
        // Never refused: there are no more of these than of tokens that were made.
        let entry = Action::TokenRevoke.entry(caller, target(&token), described(&token));
        self.apply(id, change, entry).await
    }

    /// Creates a token like this one and ends this one after the grace period, in which both are valid.
    ///
    /// # Errors
    /// [`ApiError`]: unknown id, one that is over, scopes that the caller does not have, store.
    pub async fn rotate_token(
        &self,
        caller: &Caller,
        id: TokenId,
        rotation: Rotation,
    ) -> Result<CreatedToken, ApiError> {
        let old = self.find_token(caller, id).await?;
        caller.must_own(old.scopes)?;
        if rotation.grace > LONGEST_GRACE {
            return Err(FieldProblem::new("grace", "is too long; allowed: up to 30d").into());
        }
        let now_ms = now_ms();
        let over = ApiError::Conflict("the token is expired or revoked: make a new one instead");
        if !old.is_valid_at(now_ms) {
            return Err(over);
        }
        let mut new = new_token(old.name.clone(), old.scopes, old.application_id);
        new.expires_at_ms = match rotation.expiry {
            Some(expiry) => end(expiry, now_ms)?,
            None => old.expires_at_ms,
        };
        let _alone = self.key_locks.lock(new.application_id).await?;
        self.must_have_room_for(&new, usize::from(rotation.grace.is_zero()))
            .await?;
        let grace_ends = now_ms.saturating_add(milliseconds(rotation.grace));
        let ends = old.expires_at_ms.unwrap_or(i64::MAX).min(grace_ends);
        let details = json!({"new_token_id": new.id.0, "old_expires_at_ms": ends});
        let action = self.audit.admit(caller, Action::TokenRotate)?;
        let entry = action.entry(caller, target(&old), details);
        let value = new_value()?;
        let rotation = TokenRotation {
            old: id,
            old_ends_at_ms: ends,
            hash: TokenHash::of(&value),
            new: new.clone(),
        };
        let is_done = self.tokens.rotate_token(rotation, Some(entry)).await?;
        self.token_cache.invalidate_all();
        match is_done {
            true => Ok(CreatedToken { token: new, value }),
            false => Err(over),
        }
    }

    /// Requires that the application that a new token is bound to may have one more, which replaces so many at once.
    async fn must_have_room_for(&self, new: &Token, replaced: usize) -> Result<(), ApiError> {
        let Some(application) = new.application_id else {
            return Ok(());
        };
        let now_ms = new.created_at_ms;
        let stored = self.room_of(application, now_ms, replaced).await?;
        match stored < self.most_keys() {
            true => Ok(()),
            false => Err(ApiError::Conflict(
                "the application has had ten times as many access keys as it may have (limits.application_keys): raise \
                 the limit, or make another application",
            )),
        }
    }

    /// Requires that an application may have one more valid key beside those it has, without so many; gives the number
    /// of all its keys, or that of all it may have.
    async fn room_of(
        &self,
        application: ApplicationId,
        now_ms: i64,
        replaced: usize,
    ) -> Result<usize, ApiError> {
        let asked = u32::try_from(self.most_keys()).unwrap_or(u32::MAX);
        let tokens = self.tokens.tokens(Some(application), None, asked).await?;
        let valid = tokens.iter().filter(|token| token.is_valid_at(now_ms));
        match valid.count() < self.application_keys + replaced {
            true => Ok(tokens.len()),
            false => Err(ApiError::Conflict(
                "the application has as many access keys as it may have (limits.application_keys): revoke some first",
            )),
        }
    }

    /// Keys of one application, with those that are over.
    fn most_keys(&self) -> usize {
        self.application_keys.saturating_mul(WITH_ENDED)
    }

    async fn apply(
        &self,
        id: TokenId,
        change: TokenChange,
        entry: AuditEntry,
    ) -> Result<Token, ApiError> {
        let changed = self.tokens.change_token(id, change, Some(entry)).await?;
        self.token_cache.invalidate_all();
        changed.ok_or(ApiError::NotFound)
    }
}

fn new_value() -> Result<Secret, ApiError> {
    random_value().map_err(|_| ApiError::Internal)
}

fn target(token: &Token) -> Target {
    Target::Token(token.id, token.application_id)
}

/// The audit log's details on a token.
fn described(token: &Token) -> Value {
    json!({
        "name": token.name,
        "scopes": token.scopes.names(),
        "expires_at_ms": token.expires_at_ms,
    })
}

/// The names of the fields that a change changes.
fn changed(token: &Token, change: &TokenChange) -> Vec<&'static str> {
    let mut names = Vec::new();
    if change.name.as_ref().is_some_and(|name| *name != token.name) {
        names.push("name");
    }
    if change
        .expires_at_ms
        .is_some_and(|end| end != token.expires_at_ms)
    {
        names.push("expires_at_ms");
    }
    names
}

fn check_scopes(scopes: Scopes) -> Result<(), FieldProblem> {
    match scopes.names().is_empty() {
        true => Err(FieldProblem::new(
            "scopes",
            format!("is empty; allowed: at least one of {}", names(&Scope::ALL)),
        )),
        false => Ok(()),
    }
}

/// Scopes in one line of text.
pub(crate) fn names(scopes: &[Scope]) -> String {
    let names: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
    names.join(", ")
}

fn end(expiry: Expiry, now_ms: i64) -> Result<Option<i64>, FieldProblem> {
    let problem = |field, problem| Err(FieldProblem::new(field, problem));
    match expiry {
        Expiry::Never => Ok(None),
        Expiry::At(at) if at <= now_ms => problem("expires_at_ms", "must be in the future"),
        Expiry::At(at) if at > LATEST_MS => problem(
            "expires_at_ms",
            "must be in milliseconds since 1970, before the year 10000",
        ),
        Expiry::At(at) => Ok(Some(at)),
        Expiry::In(time) => match now_ms.saturating_add(milliseconds(time)) {
            at if at > now_ms && at <= LATEST_MS => Ok(Some(at)),
            _ => problem(
                "expires_in",
                "must be longer than zero and end before the year 10000",
            ),
        },
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Reads a position that [`show_position`] has written.
pub(crate) fn read_position(text: &str) -> Option<TokenPosition> {
    let (created_at_ms, id) = text.split_once('.')?;
    Some((created_at_ms.parse().ok()?, TokenId(id.parse().ok()?)))
}

/// A position as one word of a URL.
pub(crate) fn show_position((created_at_ms, id): TokenPosition) -> String {
    format!("{created_at_ms}.{}", id.0)
}

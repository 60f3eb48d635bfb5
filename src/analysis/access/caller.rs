//! Who calls, and what a caller may do: the one place that decides it (§5, CONTRACT 27 and 30). Tokens are
//! looked up in `token_cache`.
//!
//! - A token that is bound to an application sees and changes that one only. Where the caller names another
//!   application, in a body, a path or a filter, it gets 403 before anything is looked up: the answer does
//!   not reveal whether that application exists. Where only the stored data says whose it is (records and
//!   tokens by their id), the caller gets 404, as for an id that never existed.
//! - Nobody hands out a right of others: a token that is made, rotated or changed has only scopes of its
//!   maker, and stays within the maker's application.

use crate::analysis::error::ApiError;
use crate::fair_queue::{Claim, Tenant, Urgency};
use monitor_model::ApplicationId;
use monitor_store::{Account, Role, Scope, Scopes, Token, TokenId};
use std::hash::Hash;

/// Who does something, and with which rights.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token's name, for the audit log and the versions.
    pub(crate) name: String,
    /// None on the command line.
    pub(crate) token_id: Option<TokenId>,
    scopes: Scopes,
    bound: Option<ApplicationId>,
}

impl From<&Token> for Caller {
    fn from(token: &Token) -> Self {
        Self {
            name: token.name.clone(),
            token_id: Some(token.id),
            scopes: token.scopes,
            bound: token.application_id,
        }
    }
}

impl From<&Account> for Caller {
    fn from(account: &Account) -> Self {
        Self {
            name: account.name.clone(),
            token_id: None,
            scopes: Scopes::of(match account.role {
                Role::Administrator => &Scope::FULL,
                Role::Analyst => &[Scope::Read, Scope::Triage],
                Role::Reviewer => &[Scope::ReadCleaned, Scope::Triage],
                Role::Developer => &[Scope::Ingest, Scope::Admin],
            }),
            bound: account.application_id,
        }
    }
}

impl Caller {
    /// An operator on the command line, who may do everything.
    pub fn command_line() -> Self {
        Self {
            name: "command line".to_owned(),
            token_id: None,
            scopes: Scopes::of(&Scope::FULL),
            bound: None,
        }
    }

    /// An export that the configuration names, which reads cleaned texts only.
    pub(crate) fn scheduled_export(name: &str) -> Self {
        Self {
            name: format!("export {name}"),
            token_id: None,
            scopes: Scopes::of(&[Scope::ReadCleaned]),
            bound: None,
        }
    }

    /// Whose share the caller's messages of an application are counted on.
    pub(crate) fn tenant(&self, application: ApplicationId) -> Tenant {
        self.among(&application)
    }

    /// The claim of the lines of its batches.
    pub(crate) fn batches(&self) -> Claim {
        Claim {
            tenant: self.among(&"batches"),
            urgency: Urgency::Deferred,
        }
    }

    /// Whose share its trials of drafts are counted on.
    pub(crate) fn trials(&self) -> Tenant {
        self.among(&"trials")
    }

    /// Whose share its reads of the store are counted on.
    pub(crate) fn reads(&self) -> Tenant {
        self.among(&"reads")
    }

    /// Its tenant for one kind of work. Whoever may make tokens for an application has one share, however many it
    /// makes: they take turns within it.
    fn among(&self, kind: &impl Hash) -> Tenant {
        let token = self.token_id.map(|token| token.0);
        match (self.bound, token) {
            (Some(application), token) => Tenant::new(&application, &(token, &self.name, kind)),
            (None, Some(token)) => Tenant::new(&token, kind),
            (None, None) => Tenant::new(&self.name, kind),
        }
    }

    /// The claim of what it waits for, about an application.
    pub(crate) fn awaited(&self, application: ApplicationId) -> Claim {
        Claim {
            tenant: self.tenant(application),
            urgency: Urgency::Awaited,
        }
    }

    /// Whose share of memory and connections the caller's requests take; None without a token.
    pub(crate) fn holder(&self) -> Option<u64> {
        self.token_id.map(|_| self.among(&()).holder)
    }

    /// Whether it has this scope.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        has(self.scopes, scope)
    }

    /// Whether it reads original texts and files of records. Who reads records without this sees cleaned texts only.
    pub(crate) fn reads_originals(&self) -> bool {
        self.may(Scope::Read)
    }

    /// Requires one of these scopes.
    pub(crate) fn must_have(&self, scopes: &[Scope]) -> Result<(), ApiError> {
        match scopes.iter().any(|scope| self.may(*scope)) {
            true => Ok(()),
            false => Err(scopes
                .first()
                .map_or(ApiError::Internal, |first| ApiError::ScopeMissing(*first))),
        }
    }

    /// Requires the scopes of an administrator: to change settings and to read records.
    pub(crate) fn must_administer(&self) -> Result<(), ApiError> {
        self.must_have(&[Scope::Admin])?;
        self.must_have(&[Scope::Read])
    }

    /// The application that a call is about: the one it names, else the one the caller is bound to. None
    /// stands for all.
    pub(crate) fn narrow(
        &self,
        named: Option<ApplicationId>,
    ) -> Result<Option<ApplicationId>, ApiError> {
        if let Some(named) = named {
            self.must_reach(named)?;
        }
        Ok(named.or(self.bound))
    }

    /// Requires that the named application is within reach.
    pub(crate) fn must_reach(&self, named: ApplicationId) -> Result<(), ApiError> {
        match self.sees(Some(named)) {
            true => Ok(()),
            false => Err(ApiError::OtherApplication),
        }
    }

    /// Whether data of this application, or of none, is visible to the caller.
    pub(crate) fn sees(&self, owner: Option<ApplicationId>) -> bool {
        self.bound.is_none() || owner == self.bound
    }

    /// Whether it is bound to an application.
    pub(crate) fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// The application that it is bound to.
    pub(crate) fn bound_to(&self) -> Option<ApplicationId> {
        self.bound
    }

    /// Requires a caller that is bound to no application.
    pub(crate) fn must_be_unbound(&self) -> Result<(), ApiError> {
        match self.is_bound() {
            false => Ok(()),
            true => Err(ApiError::NotForBound),
        }
    }

    /// Requires that the caller has every scope it is about to hand out.
    pub(crate) fn must_own(&self, scopes: Scopes) -> Result<(), ApiError> {
        let missing = |scope: &Scope| scopes.allow(*scope) && !self.may(*scope);
        match Scope::ALL.into_iter().find(missing) {
            None => Ok(()),
            Some(scope) => Err(ApiError::ScopeNotOwn(scope)),
        }
    }
}

/// Whoever reads originals may read records without them, and whoever reads and administers may decide about findings.
fn has(scopes: Scopes, scope: Scope) -> bool {
    let is_included = match scope {
        Scope::ReadCleaned => scopes.allow(Scope::Read),
        Scope::Triage => scopes.allow(Scope::Read) && scopes.allow(Scope::Admin),
        Scope::Ingest | Scope::Read | Scope::Admin => false,
    };
    scopes.allow(scope) || is_included
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::analysis::access::token_cache::new_token;

    fn caller(scopes: &[Scope], bound: Option<ApplicationId>) -> Caller {
        Caller::from(&new_token("t", Scopes::of(scopes), bound))
    }

    #[test]
    fn a_bound_caller_reaches_its_own_application_only() {
        let (own, other) = (ApplicationId::random(), ApplicationId::random());
        let bound = caller(&Scope::FULL, Some(own));
        assert_eq!(bound.narrow(None), Ok(Some(own)));
        assert_eq!(bound.narrow(Some(own)), Ok(Some(own)));
        assert_eq!(bound.narrow(Some(other)), Err(ApiError::OtherApplication));
        assert!(bound.sees(Some(own)) && !bound.sees(Some(other)) && !bound.sees(None));
        assert_eq!(bound.must_be_unbound(), Err(ApiError::NotForBound));
    }

    #[test]
    fn the_tokens_of_an_application_have_one_share() {
        let (own, other) = (ApplicationId::random(), ApplicationId::random());
        let [one, two] = [(); 2].map(|()| caller(&[Scope::Ingest], Some(own)));
        assert_eq!(one.tenant(own).holder, two.tenant(own).holder);
        assert_eq!(one.trials().holder, two.trials().holder);
        assert_eq!(one.holder(), two.holder());
        assert_eq!(one.reads().holder, two.reads().holder);
        // They take turns within it.
        assert_ne!(one.tenant(own), two.tenant(own));
        let stranger = caller(&[Scope::Ingest], Some(other));
        assert_ne!(stranger.holder(), one.holder());
        let [gateway, another] = [(); 2].map(|()| caller(&[Scope::Ingest], None));
        assert_ne!(gateway.holder(), another.holder());
    }

    #[test]
    fn an_unbound_caller_reaches_everything() {
        let any = ApplicationId::random();
        for caller in [caller(&[Scope::Read], None), Caller::command_line()] {
            assert_eq!(caller.narrow(None), Ok(None));
            assert_eq!(caller.narrow(Some(any)), Ok(Some(any)));
            assert!(caller.sees(Some(any)) && caller.sees(None));
            assert_eq!(caller.must_be_unbound(), Ok(()));
        }
    }

    #[test]
    fn nobody_gives_a_scope_he_does_not_have() {
        let admin = caller(&[Scope::Admin, Scope::Ingest], None);
        assert_eq!(admin.must_own(Scopes::of(&[Scope::Ingest])), Ok(()));
        let refused = admin.must_own(Scopes::of(&Scope::FULL));
        assert_eq!(refused, Err(ApiError::ScopeNotOwn(Scope::Read)));
        assert!(
            Caller::command_line()
                .must_own(Scopes::of(&Scope::FULL))
                .is_ok()
        );
    }

    #[test]
    fn reading_includes_reading_cleaned_texts_and_not_the_other_way_round() {
        let (reader, reviewer) = (
            caller(&[Scope::Read], None),
            caller(&[Scope::ReadCleaned], None),
        );
        assert!(reader.may(Scope::ReadCleaned) && reader.reads_originals());
        assert!(!reviewer.may(Scope::Read) && !reviewer.reads_originals());
        assert_eq!(reader.must_own(Scopes::of(&[Scope::ReadCleaned])), Ok(()));
        let refused = reviewer.must_own(Scopes::of(&[Scope::Read]));
        assert_eq!(refused, Err(ApiError::ScopeNotOwn(Scope::Read)));
        let both = caller(&[Scope::ReadCleaned, Scope::Admin], None);
        assert!(both.must_administer().is_err());
    }

    #[test]
    fn an_administrator_changes_settings_and_reads_records() {
        for (scopes, missing) in [
            (&[Scope::Admin, Scope::Ingest], Scope::Read),
            (&[Scope::Read, Scope::Ingest], Scope::Admin),
        ] {
            let refused = caller(scopes, None).must_administer();
            assert_eq!(refused, Err(ApiError::ScopeMissing(missing)));
        }
        let both = caller(&[Scope::Read, Scope::Admin], None);
        assert_eq!(both.must_administer(), Ok(()));
    }

    #[test]
    fn one_of_the_scopes_is_enough_and_the_first_is_named_when_all_are_missing() {
        let reader = caller(&[Scope::Read], None);
        assert_eq!(reader.must_have(&[Scope::Admin, Scope::Read]), Ok(()));
        let refused = reader.must_have(&[Scope::Admin]);
        assert_eq!(refused, Err(ApiError::ScopeMissing(Scope::Admin)));
    }
}

//! Finds or creates the account of a person whom an identity provider has authenticated. It is found by the
//! subject of the provider's token, and by an e-mail address only where the provider has verified it and no
//! other identity of this provider has the account: an address may pass to a new owner.

use super::People;
use super::accounts::new_account;
use super::administration::{AccountEdit, check_name, target};
use super::oidc::{AccessDenied, Flow, LASTS, Person, Provider};
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::Action;
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use crate::config::SignInRole;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use monitor_model::Secret;
use monitor_store::{Account, Identity, Role, SecretHash, TakenStates};
use serde_json::json;
use sha2::{Digest, Sha256};

/// Taken states that are remembered.
const MOST_TAKEN_STATES: u32 = 10_000;

/// Why a person is not signed in.
pub(crate) enum EntryError {
    /// Shown to the person; with the account, if there is one.
    Refused(AccessDenied, Option<Box<Account>>),
    /// A failure of the service itself.
    Failed(ApiError),
}

impl From<ApiError> for EntryError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl From<AccessDenied> for EntryError {
    fn from(why: AccessDenied) -> Self {
        Self::Refused(why, None)
    }
}

impl From<SignInRole> for Role {
    fn from(role: SignInRole) -> Self {
        match role {
            SignInRole::Administrator => Self::Administrator,
            SignInRole::Developer => Self::Developer,
            SignInRole::Analyst => Self::Analyst,
            SignInRole::Reviewer => Self::Reviewer,
        }
    }
}

impl People {
    /// The configured provider.
    pub(crate) fn oidc(&self) -> Option<&Provider> {
        self.oidc.as_ref()
    }

    /// Takes the state of a sign-in that comes back; false if it came back before, to whichever server.
    pub(crate) async fn take_state(&self, flow: &Flow) -> Result<bool, ApiError> {
        let (hash, now_ms) = (SecretHash::of(&Secret::new(flow.state.as_str())), now_ms());
        let lasts_ms = i64::try_from(LASTS.as_millis()).unwrap_or(i64::MAX);
        let remembered = TakenStates {
            // Clocks of servers differ.
            since_ms: now_ms.saturating_sub(lasts_ms.saturating_mul(2)),
            most: MOST_TAKEN_STATES,
        };
        Ok(self.sign_ins.take_state(hash, now_ms, remembered).await?)
    }

    /// The account of a person, created or linked where necessary, with the current role.
    pub(crate) async fn account_for(&self, person: &Person) -> Result<Account, EntryError> {
        let settings = self.oidc.as_ref().map(Provider::settings);
        if settings.is_some_and(|settings| !person.is_of(&settings.allowed_domains)) {
            return Err(AccessDenied::OtherDomain.into());
        }
        let claimed = person.role;
        let known = self.accounts.account_of(&person.identity).await;
        let account = match known.map_err(ApiError::from)? {
            Some(account) => account,
            None => {
                let default = settings.and_then(|settings| settings.default_role);
                self.first_account(person, claimed.or(default)).await?
            }
        };
        if account.disabled_at_ms.is_some() {
            return Err(EntryError::Refused(
                AccessDenied::Disabled,
                Some(Box::new(account)),
            ));
        }
        let Some(settings) = settings.filter(|settings| settings.role_claim.is_some()) else {
            return Ok(account);
        };
        match claimed.or(settings.default_role) {
            Some(role) => Ok(self.with_role(account, role.into()).await?),
            None => Err(EntryError::Refused(
                AccessDenied::NoAccount,
                Some(Box::new(account)),
            )),
        }
    }

    /// The account of a person who signs in for the first time.
    async fn first_account(
        &self,
        person: &Person,
        role: Option<SignInRole>,
    ) -> Result<Account, EntryError> {
        let name = name_of(person);
        let known = self
            .accounts
            .account_named(&name)
            .await
            .map_err(ApiError::from)?;
        let account = match known {
            Some(account) if person.email.as_ref() == Some(&account.name) => account,
            Some(_) => return Err(AccessDenied::NameTaken.into()),
            None => {
                let role = role.ok_or(AccessDenied::NoAccount)?;
                self.add_for(&name, role.into()).await?
            }
        };
        let identity = person.identity.clone();
        if account.disabled_at_ms.is_none() && !self.is_given(&account, identity).await? {
            return Err(AccessDenied::NameTaken.into());
        }
        Ok(account)
    }

    /// Whether the account now belongs to the identity; it may already, as the same person may sign in from
    /// two windows at once.
    async fn is_given(&self, account: &Account, identity: Identity) -> Result<bool, ApiError> {
        if self
            .accounts
            .add_identity(identity.clone(), account.id)
            .await?
        {
            return Ok(true);
        }
        let owner = self.accounts.account_of(&identity).await?;
        Ok(owner.is_some_and(|owner| owner.id == account.id))
    }

    async fn add_for(&self, name: &str, role: Role) -> Result<Account, EntryError> {
        let account = new_account(name, role);
        let details = json!({"name": name, "role": role.as_str(), "by": "oidc"});
        let caller = Caller::from(&account);
        let entry = Action::AccountCreate.entry(&caller, target(&account), details);
        let added = self.accounts.add_account(account.clone(), Some(entry));
        if !added.await.map_err(ApiError::from)? {
            return Err(AccessDenied::NameTaken.into());
        }
        Ok(account)
    }

    /// The last administrator keeps the role, whatever the provider says.
    async fn with_role(&self, account: Account, role: Role) -> Result<Account, ApiError> {
        if account.role == role {
            return Ok(account);
        }
        let caller = Caller::from(&account);
        let edited = self.edit_account(&caller, account.id, AccountEdit::Role(role));
        match edited.await {
            Err(ApiError::Conflict(_)) => Ok(account),
            other => other,
        }
    }
}

/// The name of a person's new account: the first of the provider's names that is allowed, else a generated
/// one. A name that looks like an e-mail address is used only if the provider has verified it; otherwise
/// the owner of that address would find the account taken.
fn name_of(person: &Person) -> String {
    let subject = &person.identity.subject;
    let own = [person.name.as_ref(), Some(subject)];
    let own = own.into_iter().flatten().filter(|word| !word.contains('@'));
    let words = person.email.as_ref().into_iter().chain(own);
    let mut names = words.map(|word| word.trim().to_lowercase());
    names
        .find(|name| check_name(name).is_ok())
        .unwrap_or_else(|| {
            let hash = Sha256::digest(format!("{}\0{subject}", person.identity.issuer));
            format!("oidc-{}", URL_SAFE_NO_PAD.encode(&hash[..9]).to_lowercase())
        })
}

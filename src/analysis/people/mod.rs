//! The people who use the web UI: their accounts, passwords and second factors, sign-ins by password or by an identity
//! provider, and the limits on guessing.

pub(crate) mod accounts;
pub(crate) mod administration;
pub(crate) mod first_link;
pub(crate) mod kept_forms;
pub(crate) mod oidc;
pub(crate) mod oidc_accounts;
pub(crate) mod open_sign_ins;
pub(crate) mod passwords;
pub(crate) mod refused_sign_ins;
pub(crate) mod second_factor;
pub(crate) mod sign_in_limits;
pub(crate) mod sign_ins;

// The types of the store that callers of this service pass and get.
pub(crate) use monitor_store::{Account, AccountId, EndedSignIns, OpenSignIn, Role, SecretHash};

use kept_forms::KeptForms;
use monitor_store::{AccountStore, ApplicationStore, SignInStore};
use oidc::Provider;
use refused_sign_ins::RefusedSignIns;
use sign_in_limits::SignInLimits;
use std::sync::Arc;
use std::time::Duration;

/// How long a one-time link may be used.
const LINK_LASTS: Duration = Duration::from_secs(3 * 86_400);

/// Signs people in and administers their accounts.
pub struct People {
    pub(super) accounts: Arc<dyn AccountStore>,
    pub(super) sign_ins: Arc<dyn SignInStore>,
    pub(super) applications: Arc<dyn ApplicationStore>,
    /// The identity provider; None where people sign in by password alone.
    pub(super) oidc: Option<Provider>,
    /// Whether accounts with a password must have a second factor.
    pub(super) require_second_factor: bool,
    pub(crate) refused_sign_ins: RefusedSignIns,
    pub(crate) limits: SignInLimits,
    pub(crate) kept_forms: Arc<KeptForms>,
}

//! The people who use the web UI: their accounts, passwords, sign-ins by password or by an identity provider,
//! and the limits on guessing.

pub(in crate::analysis) mod accounts;
pub(in crate::analysis) mod administration;
pub(in crate::analysis) mod first_link;
pub(in crate::analysis) mod oidc;
pub(in crate::analysis) mod oidc_accounts;
pub(in crate::analysis) mod passwords;
pub(in crate::analysis) mod refused_sign_ins;
pub(in crate::analysis) mod sign_in_limits;
pub(in crate::analysis) mod sign_ins;

/// What callers of this service pass and get.
pub(in crate::analysis) use monitor_store::{Account, AccountId, Role};

use crate::analysis::audit::AuditLog;
use monitor_store::Store;
use oidc::Provider;
use refused_sign_ins::RefusedSignIns;
use sign_in_limits::SignInLimits;
use std::sync::Arc;
use std::time::Duration;

/// How long a one-time link may be used.
const LINK_LASTS: Duration = Duration::from_secs(3 * 86_400);

/// Signs people in and administers their accounts.
pub struct People {
    pub(super) store: Arc<dyn Store>,
    pub(super) audit: AuditLog,
    /// The identity provider; None where people sign in by password alone.
    pub(super) oidc: Option<Provider>,
    pub(in crate::analysis) refused_sign_ins: RefusedSignIns,
    pub(in crate::analysis) limits: SignInLimits,
}

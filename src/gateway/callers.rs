//! Whether a caller is known, decided before anything of its call is read or counted on an application
//! (CONTRACT 44): an invented access key reaches no model server, and an invented application escapes no
//! check, where the settings say so.

use super::error::CallError;
use super::state::Snapshot;
use crate::backend::Recognition;
use crate::config::{CallerRules, UnknownApplication, UnknownKey};
use crate::fair_queue::Tenant;
use crate::observe::UnknownCaller;
use crate::observe::events::CallerUnknown;
use crate::policy::{Policies, PolicySnapshot};
use monitor_model::{ApplicationId, Secret};
use std::sync::Arc;
use std::time::Instant;

/// The application that a call counts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CountsFor {
    /// The one it names, else the default one.
    #[default]
    Named,
    /// The default one, whatever it names.
    Default,
    /// The one that its access key belongs to; it names none.
    BoundToKey(ApplicationId),
}

/// A call that may go on.
pub(crate) struct Admitted {
    pub(crate) counts_for: CountsFor,
    /// The application that its access key is bound to, where the backend said so.
    pub(crate) bound_to: Option<ApplicationId>,
    /// The policies that it was admitted under and is checked by; None where there are none.
    pub(crate) policies: Option<Arc<PolicySnapshot>>,
}

/// Decides whether a call may go on, and for which application; `application_id` is the one it names.
///
/// # Errors
/// [`CallError::KeyRefused`], [`CallError::KeyUnchecked`], [`CallError::UnknownApplication`], counted.
pub(crate) async fn admit(
    snapshot: &Snapshot,
    key: &Secret,
    application_id: Option<&str>,
) -> Result<Admitted, CallError> {
    let rules = snapshot.caller_rules();
    let count = |outcome| CallerUnknown { outcome }.emit(&snapshot.metrics);
    let refuses = rules.key == UnknownKey::Refuse;
    let default = snapshot.settings.monitor.application_id;
    let default = default.map(|id| id.to_string());
    let before = policies_now(snapshot);
    let mut recognized = recognize(snapshot, rules, key, application_id).await;
    // A key of all applications says nothing of the default one.
    if recognized == Recognition::Known
        && application_id.is_none()
        && default.is_some()
        && snapshot.has_access_keys()
    {
        recognized = recognize(snapshot, rules, key, default.as_deref()).await;
    }
    let bound_to = match recognized {
        Recognition::KnownFor(own) => Some(own),
        _ => None,
    };
    let recognition = of_application(recognized, application_id);
    match recognition {
        Recognition::UnknownKey if refuses => {
            count(UnknownCaller::KeyRefused);
            return Err(CallError::KeyRefused);
        }
        Recognition::UnknownKey => count(UnknownCaller::KeyForwarded),
        Recognition::NoAnswer if refuses => {
            count(UnknownCaller::KeyUnchecked);
            return Err(CallError::KeyUnchecked);
        }
        Recognition::Unsupported if refuses => count(UnknownCaller::KeyUnsupported),
        _ => {}
    }
    let own = bound_to.map(|own| own.to_string());
    let application = application_id.or(own.as_deref()).or(default.as_deref());
    let policies = policies_of(before, policies_now(snapshot), application);
    let knows = || {
        let policies = policies.as_deref();
        knows_application(snapshot, recognition, application, policies)
    };
    let counts_for = match recognition {
        Recognition::KnownFor(own) => CountsFor::BoundToKey(own),
        _ if knows() => CountsFor::Named,
        _ => unknown_application(snapshot, rules.application)?,
    };
    Ok(Admitted {
        counts_for,
        bound_to,
        policies,
    })
}

/// The policies as they are now, where there are any.
pub(crate) fn policies_now(snapshot: &Snapshot) -> Option<Arc<PolicySnapshot>> {
    snapshot.policies.as_ref().map(Policies::snapshot)
}

/// The policies of a call whose caller was recognized between these two moments. New applications are known once they
/// have a policy, and one that is removed may lose it while it is still known.
fn policies_of(
    before: Option<Arc<PolicySnapshot>>,
    after: Option<Arc<PolicySnapshot>>,
    application: Option<&str>,
) -> Option<Arc<PolicySnapshot>> {
    let (Some(before), Some(after)) = (&before, &after) else {
        return after;
    };
    let has_policy = |policies: &PolicySnapshot| application.is_some_and(|id| policies.knows(id));
    let is_lost = !Arc::ptr_eq(before, after) && has_policy(before) && !has_policy(after);
    Some(match is_lost {
        true => before.clone(),
        false => after.clone(),
    })
}

/// Whether the application of a call is known and the key's: to the backend, or else because it has a policy. Of a call
/// that names none it is the default one.
fn knows_application(
    snapshot: &Snapshot,
    recognition: Recognition,
    application: Option<&str>,
    policies: Option<&PolicySnapshot>,
) -> bool {
    match (recognition, application, policies) {
        (Recognition::UnknownApplication, ..) => false,
        // A key that is unknown hides whether the application is.
        _ if snapshot.has_access_keys() => true,
        (_, Some(id), Some(policies)) => policies.knows(id),
        _ => true,
    }
}

fn unknown_application(
    snapshot: &Snapshot,
    rule: UnknownApplication,
) -> Result<CountsFor, CallError> {
    let (outcome, admitted) = match rule {
        UnknownApplication::Async => (UnknownCaller::ApplicationForwarded, Ok(CountsFor::Named)),
        UnknownApplication::Default => (UnknownCaller::ApplicationDefault, Ok(CountsFor::Default)),
        UnknownApplication::Refuse => (
            UnknownCaller::ApplicationRefused,
            Err(CallError::UnknownApplication),
        ),
    };
    CallerUnknown { outcome }.emit(&snapshot.metrics);
    admitted
}

/// What the backend knows. A key that it has accepted before counts as known while it does not answer.
async fn recognize(
    snapshot: &Snapshot,
    rules: CallerRules,
    key: &Secret,
    application_id: Option<&str>,
) -> Recognition {
    let Some(analyzer) = &snapshot.analyzer else {
        return Recognition::Known;
    };
    // A backend elsewhere is asked about the key, if calls may depend on its answer.
    if rules.key == UnknownKey::Forward && !analyzer.has_access_keys() {
        return Recognition::Known;
    }
    let answer = analyzer.recognize(key, application_id).await;
    match answer {
        Recognition::NoAnswer => {
            let remembered = snapshot.accepted_keys.remembers(key, Instant::now());
            remembered.unwrap_or(answer)
        }
        Recognition::Known | Recognition::KnownFor(_) => {
            note_accepted(snapshot, key, answer);
            answer
        }
        other => other,
    }
}

fn note_accepted(snapshot: &Snapshot, key: &Secret, recognition: Recognition) {
    let own = match recognition {
        Recognition::KnownFor(own) => Some(own),
        _ => None,
    };
    snapshot.accepted_keys.note(key, own, Instant::now());
    // The spool knows the keys of its records only.
    let of_key = Tenant::new(key, &()).holder;
    match own.map(|own| tenant_of(own, key).holder) {
        None => snapshot.known_holders.insert(of_key),
        Some(share) => {
            snapshot.known_holders.insert(share);
            snapshot.known_holders.insert_with_share(of_key, share);
        }
    }
}

/// Whose shares a call with a key counts on that is bound to an application: whoever may make keys for it has one
/// share, however many it makes.
pub(crate) fn tenant_of(application: ApplicationId, key: &Secret) -> Tenant {
    Tenant::new(&application, key)
}

/// The application that a call names must be the one its key belongs to.
fn of_application(recognition: Recognition, named: Option<&str>) -> Recognition {
    match (recognition, named) {
        (Recognition::KnownFor(own), Some(named)) if named.parse() == Ok(own) => Recognition::Known,
        (Recognition::KnownFor(_), Some(_)) => Recognition::UnknownApplication,
        _ => recognition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_bound_counts_on_its_application() {
        let (own, other) = (ApplicationId::random(), ApplicationId::random());
        let [one, two] = ["mon_1", "mon_2"].map(Secret::new);
        assert_eq!(tenant_of(own, &one).holder, tenant_of(own, &two).holder);
        assert_ne!(
            tenant_of(own, &one),
            tenant_of(own, &two),
            "they take turns"
        );
        assert_ne!(tenant_of(own, &one).holder, tenant_of(other, &one).holder);
        assert_ne!(tenant_of(own, &one).holder, Tenant::new(&one, &()).holder);
    }
}

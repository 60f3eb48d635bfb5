//! The first step: one press makes an application block sensitive data. What else its policy and rules say stays.

use crate::analysis::access::Scope;
use crate::analysis::admin::Application;
use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::draft::{Edit, Part};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::token_field;
use crate::analysis::ui::paths::address;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApplicationRules, Services};
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use monitor_model::{AppMode, ApplicationId, Policy};
use serde_json::json;
use std::sync::Arc;

pub(super) async fn block(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Redirect, Failure> {
    visit.must(Scope::Admin)?;
    let id = form.text("application_id").parse::<ApplicationId>();
    let id = id.map_err(|_| Failure::NotFound)?;
    let application = services.admin.find_application(&visit.caller, id).await?;
    // A policy that cannot be read is not replaced without a look at it.
    if matches!(application.policy, Some(Err(_))) {
        return Err(Failure::NotFound);
    }
    let basis = Basis {
        id,
        version: application.version,
    };
    let edit = edit(&application, visit.view.o().usual_phrase);
    let changed = services
        .admin
        .change_application(&visit.caller, basis, edit);
    changed.await?;
    let id = id.to_string();
    let page = address("/ui/first-steps", &[("application_id", &id)]);
    Ok(Redirect::to(&page))
}

/// Synchronous mode that blocks sensitive data, with this phrase where there is none.
fn edit(application: &Application, phrase: &str) -> Edit {
    let mut change = json!({"app_mode": "sync", "block_on": {"dataclean": true}});
    if policy(application).is_none_or(|policy| policy.phrase.trim().is_empty()) {
        change["phrase"] = json!(phrase);
    }
    let check = json!({"pre": {"dataclean": {}}});
    Edit {
        rules: (!checks_data(application)).then_some(Part::Merge(check)),
        policy: Some(Part::Merge(change)),
        ..Edit::default()
    }
}

fn policy(application: &Application) -> Option<&Policy> {
    application.policy.as_ref()?.as_ref().ok()
}

fn checks_data(application: &Application) -> bool {
    let rules = ApplicationRules::stored(application.rules.clone()).unwrap_or_default();
    rules.pre.dataclean.is_some()
}

/// Whether the application is synchronous, whatever it blocks.
fn is_sync(application: &Application) -> bool {
    policy(application).is_some_and(|policy| policy.app_mode == AppMode::Sync)
}

/// Whether the request of this page is blocked.
pub(super) fn is_done(application: &Application) -> bool {
    let blocks = policy(application).is_some_and(|policy| policy.block_on.dataclean);
    is_sync(application) && blocks && checks_data(application)
}

/// The content of the step.
pub(super) fn step(services: &Services, visit: &Visit, application: &Application) -> Markup {
    let (view, o) = (&visit.view, visit.view.o());
    let may_block = visit.may(Scope::Admin)
        && !is_done(application)
        && !matches!(application.policy, Some(Err(_)))
        && !services.admin.is_in_file(application.id);
    html! {
        p { strong { (application.name) } " " @if is_sync(application) { (o.step_block_done) } @else { (o.step_block_hint) } }
        div.actions {
            @if may_block {
                form method="post" action="/ui/first-steps/block" {
                    (token_field(view))
                    input type="hidden" name="application_id" value=(application.id);
                    button.primary type="submit" { (o.block_now.replace("{}", &application.name)) }
                }
            }
            a.button href={ "/ui/applications/" (application.id) } { (o.open_application) }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn application(rules: Value, policy: Option<Value>) -> Application {
        Application {
            id: ApplicationId::random(),
            name: "bot".to_owned(),
            description: String::new(),
            created_at_ms: 0,
            updated_at_ms: 0,
            version: 1,
            rules,
            policy: policy.map(|policy| Policy::from_value(&policy)),
        }
    }

    #[test]
    fn ui_c4_one_press_blocks_and_keeps_what_else_is_set() {
        let off = json!({"pre": {"dataclean": null}, "keep_original": true});
        let own =
            json!({"app_mode": "async", "phrase": "Never.", "block_on": {"dataclean": false}});
        for (rules, policy, phrase) in [(json!({}), None, "Usual."), (off, Some(own), "Never.")] {
            let before = application(rules.clone(), policy);
            assert!(!is_done(&before));
            let after = edit(&before, "Usual.").over(&before).unwrap();
            assert_eq!(after.policy.as_ref().unwrap().phrase, phrase);
            assert_eq!(after.rules.get("keep_original"), rules.get("keep_original"));
            let policy = after.policy.map(|policy| json!(policy));
            assert!(is_done(&application(after.rules, policy)));
        }
    }
}

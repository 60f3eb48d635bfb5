//! Applications with custom policies, where no judge is configured that could ask a model about them.

use crate::analysis::Services;
use crate::analysis::admin::{Application, ApplicationFilter};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::request::visit::Visit;
use maud::{Markup, html};
use serde_json::Value;

/// Applications that are looked at, the first ones.
const LOOKED_AT: u32 = 500;
/// Applications that are named.
const NAMED: usize = 5;

/// Nothing where a judge is configured, or no policy is written.
pub(super) async fn notice(services: &Services, visit: &Visit) -> Result<Markup, Failure> {
    if services.ingest.remote().model_judge().is_some() {
        return Ok(html! {});
    }
    let filter = ApplicationFilter {
        id: None,
        name: None,
        after: None,
        limit: LOOKED_AT,
    };
    let found = services.admin.list_applications(&visit.caller, filter);
    let found = found.await?.applications;
    let concerned: Vec<_> = found.iter().filter(|it| has_policies(it)).collect();
    let more = concerned.len().saturating_sub(NAMED);
    Ok(html! {
        @if !concerned.is_empty() {
            div.notice role="status" {
                p { (visit.view.o().no_judge_for) }
                ul.bare {
                    @for one in concerned.iter().take(NAMED) {
                        li { a href={ "/ui/applications/" (one.id) "#pre.policy" } { (one.name) } }
                    }
                    @if more > 0 { li.dim { (visit.view.o().chain_more.replace("{}", &more.to_string())) } }
                }
            }
        }
    })
}

fn has_policies(application: &Application) -> bool {
    let policies = application.rules.pointer("/pre/custom_policies");
    let policies = policies.and_then(Value::as_array);
    policies.is_some_and(|policies| !policies.is_empty())
}

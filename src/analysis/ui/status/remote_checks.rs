//! The external services of the checks, in their last known state: the page itself does not call them.

use crate::analysis::Services;
use crate::analysis::ui::layout::components;
use crate::analysis::ui::request::view::View;
use crate::judge::{EndpointStatus, GuardModel, ModelJudge, Presidio};
use maud::{Markup, html};

/// None where there is no such server.
type State = Option<EndpointStatus>;

/// Every kind of server, configured or not.
pub(crate) fn servers(services: &Services, view: &View) -> [(&'static str, State); 3] {
    let (o, remote) = (view.o(), &services.ingest.remote());
    let judge = remote.model_judge().map(ModelJudge::status);
    [
        (o.judge, judge.map(|(status, _)| status)),
        (o.presidio, remote.presidio().map(Presidio::status)),
        (o.guard, remote.guard().map(GuardModel::status)),
    ]
}

/// One word on a server.
pub(crate) fn badge(view: &View, state: State) -> Markup {
    let o = view.o();
    match state {
        None => html! { span.dim { (o.not_configured) } },
        Some(status) if status.is_down => components::badge("bad", o.answers_not),
        Some(_) => components::badge("good", o.answers),
    }
}

pub(super) fn card(services: &Services, view: &View) -> Markup {
    let o = view.o();
    let judge = services.ingest.remote().model_judge();
    let remembered = judge.map(|judge| judge.status().1);
    html! {
        section.card {
            h2 { (o.asked_servers) }
            dl.pairs {
                @for (name, state) in servers(services, view) {
                    dt { (name) }
                    dd {
                        (badge(view, state))
                        @if let Some(status) = state {
                            " " span.dim { (o.calls_under_way) ": " (status.calls) ", " (o.calls_waiting) ": " (status.waiting) }
                        }
                    }
                }
                @match remembered {
                    Some(count) => { dt { (o.verdicts_remembered) } dd { (count) } }
                    None => { dt { (view.t.custom_policies) } dd { span.dim { (o.cues_only) } } }
                }
            }
        }
    }
}

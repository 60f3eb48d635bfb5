//! The form of the list's filter: the few parts that are used most, and the others folded away
//! until one is set. It is sent as an address, so a filter can be kept as a bookmark.

use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::layout::components::choice;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::PATTERN_NAMES;

/// Parts that are folded away while none of them is set.
const FOLDED: [&str; 6] = ["user_id", "session_id", "stage", "type", "from", "to"];

pub(super) fn form(view: &View, query: &ListQuery) -> Markup {
    let (t, r) = (view.t, view.r());
    html! {
        form.card.filters method="get" action="/ui/records" role="search" data-skips-empty {
            div.row {
                label.wide { (r.search_text) input type="search" name="text" value=(query.text("text")) maxlength="1000"; }
                label { (r.verdict) select name="verdict" { (verdicts(view, query.text("verdict"))) } }
                (application_field::field(Label::Shown(r.application), query.text("application_id"), r.name_or_id))
            }
            details open[query.has(&FOLDED)] {
                summary { (r.more_filters) }
                (folded(view, query))
            }
            div.actions {
                button.primary type="submit" { (t.search) }
                a.button.quiet href="/ui/records" { (t.clear) }
            }
        }
    }
}

fn folded(view: &View, query: &ListQuery) -> Markup {
    let r = view.r();
    let stage = query.text("stage");
    let field = |name: &'static str, label: &'static str, kind: &'static str| {
        html! { label { (label) input type=(kind) name=(name) value=(query.text(name)) maxlength="1000" autocomplete="off" spellcheck="false"; } }
    };
    html! {
        div.row {
            (field("user_id", r.user, "text"))
            (field("session_id", r.session, "text"))
            label { (r.kind) select name="stage" {
                (choice("", r.any_kind, stage)) (choice("pre", r.only_prompts, stage)) (choice("post", r.only_answers, stage))
            } }
        }
        div.row {
            label { (r.find_type) input name="type" value=(query.text("type")) list="types" maxlength="1000" autocomplete="off" spellcheck="false"; }
            datalist #types { @for name in PATTERN_NAMES { option value=(name) {} } }
            (field("from", r.from, "datetime-local"))
            (field("to", r.until, "datetime-local"))
        }
    }
}

fn verdicts(view: &View, chosen: &str) -> Markup {
    let (t, r) = (view.t, view.r());
    html! {
        (choice("", r.any, chosen))
        (choice("flagged", r.flagged, chosen))
        (choice("blocked", r.blocked, chosen))
        (choice("failed", r.failed, chosen))
        (choice("dataclean", t.sensitive_data, chosen))
        (choice("guardrails", t.guardrails, chosen))
        (choice("custom_policy", t.custom_policies, chosen))
        (choice("clean", r.clean, chosen))
    }
}

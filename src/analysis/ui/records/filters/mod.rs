//! The form of the list's filter: the few parts that are used most, and the others folded away
//! until one is set. It is sent as an address, so a filter can be kept as a bookmark.

pub(super) mod filter_bar;
pub(super) mod saved_filters;
pub(super) mod types;
pub(super) mod users;

use crate::analysis::access::Scope;
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::layout::components::choice;
use crate::analysis::ui::request::list_query::{FOLDED, ListQuery};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use maud::{Markup, html};
use monitor_model::pattern_names;

pub(super) fn form(visit: &Visit, query: &ListQuery) -> Markup {
    let view = &visit.view;
    let (t, r) = (view.t, view.r());
    // A search in texts matches originals too.
    let may_search = visit.may(Scope::Read);
    html! {
        form.card.filters method="get" action="/ui/records" role="search" data-skips-empty {
            div.row {
                @if may_search { label.wide { (r.search_text) input type="search" name="text" value=(query.text("text")) maxlength="1000"; } }
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
            datalist #types { @for name in pattern_names() { option value=(name) {} } }
            (field("from", r.from, "datetime-local"))
            (field("to", r.until, "datetime-local"))
        }
        div.row {
            (field("model", r.model, "text"))
            (field("token", r.access_key, "text"))
            (field("tool", r.tool, "text"))
            label.tick { input type="checkbox" name="has_tool_calls" value="true" checked[query.has(&["has_tool_calls"])]; span { (r.with_tool_calls) } }
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
        (choice("unchecked", r.unchecked, chosen))
        (choice("clean", r.clean, chosen))
    }
}

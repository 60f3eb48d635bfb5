//! A record as a row of the list, the same on a page and in its live tail.

use super::given;
use crate::analysis::ui::components::{badge, time_exact};
pub(in crate::analysis::ui) use crate::analysis::ui::names::Names;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::view::View;
use crate::model::{ApplicationId, Stage, Status};
use crate::store::RecordSummary;
use maud::{Markup, html};

/// Rows, newest first.
pub(in crate::analysis::ui) fn rows(
    view: &View,
    records: &[RecordSummary],
    names: &Names,
) -> Markup {
    html! { @for record in records { (row(view, record, names)) } }
}

fn row(view: &View, record: &RecordSummary, names: &Names) -> Markup {
    let r = view.r();
    let of_user = |user: &str| address("/ui/records", &[("user_id", user)]);
    let of_session = |session: &str| session_address(record.application_id, session);
    html! {
        tr data-record=(record.id) data-seq=(record.seq) {
            th scope="row" { a href={ "/ui/records/" (record.id) } { (time_exact(record.created_at_ms)) } }
            td { (kind(view, record.stage)) }
            td { div.badges { (verdict(r, record)) } }
            td { (application(r, record.application_id, names)) }
            td { (link(record.user_id.as_deref(), of_user)) }
            td { (link(record.session_id.as_deref(), of_session)) }
            td.number { (record.token_count) @if let Some(severity) = record.severity { " " (badge("warn", severity.as_str())) } }
        }
    }
}

/// A caller's word as a link, where there is one.
fn link(word: Option<&str>, to: impl FnOnce(&str) -> String) -> Markup {
    match word {
        Some(word) => given::link(word, ("plain cut", ""), to),
        None => html! { span.dim { "–" } },
    }
}

/// An address with these parts, whatever their text.
pub(in crate::analysis::ui) fn address(path: &str, parts: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parts);
    format!("{path}?{}", query.finish())
}

/// The page of a session.
pub(super) fn session_address(application: ApplicationId, session: &str) -> String {
    let application = application.to_string();
    address(
        "/ui/sessions/one",
        &[("application_id", &application), ("session_id", session)],
    )
}

/// An application's name, or that it is gone.
pub(super) fn application(r: &RecordPhrases, id: ApplicationId, names: &Names) -> Markup {
    let href = address("/ui/records", &[("application_id", &id.to_string())]);
    html! {
        a.plain.cut href=(href) title=(id) {
            @match names.get(&id) { Some(name) => (name), None => span.dim { (r.removed_application) } }
        }
    }
}

/// Prompt or answer.
pub(super) fn kind(view: &View, stage: Stage) -> Markup {
    match stage {
        Stage::PreCall => html! { span.kind-of { "→ " (view.t.prompt) } },
        Stage::PostCall => html! { span.kind-of { "← " (view.t.answer) } },
    }
}

/// What was decided about a record, in short.
pub(super) fn verdict(r: &RecordPhrases, record: &RecordSummary) -> Markup {
    let marks = [
        (record.blocked, "bad", r.was_blocked),
        (record.failed, "bad", r.was_failed),
        (record.flagged_guardrails, "bad", r.by_guardrails),
        (record.flagged_custom_policy, "bad", r.by_custom_policy),
        (record.incomplete, "warn", r.was_incomplete),
        (
            record.status == Status::PartialSuccess,
            "warn",
            r.analysis_partial,
        ),
        (record.status == Status::Error, "bad", r.analysis_failed),
    ];
    let is_plain = !marks.iter().any(|(holds, ..)| *holds) && record.types.is_empty();
    html! {
        @for (_, tone, text) in marks.into_iter().filter(|(holds, ..)| *holds) { (badge(tone, text)) }
        @for found in &record.types { (badge("warn", &format!("{} × {}", found.kind, found.count))) }
        @if is_plain { span.dim { (r.was_clean) } }
    }
}

//! Small pieces that several pages are made of.

use super::form::TOKEN;
use super::view::View;
use crate::analysis::{ApiError, FieldProblem};
use maud::{Markup, html};

/// The field without which no form is taken.
pub(super) fn token_field(view: &View) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(view.form_token()); }
}

/// What became of something, for eyes and screen readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "notice good",
            Self::Bad => "notice bad",
        }
    }
}

/// A message above a page's content.
pub(super) fn notice(tone: Tone, text: &str) -> Markup {
    let role = match tone {
        Tone::Bad => "alert",
        _ => "status",
    };
    html! { div class=(tone.class()) role=(role) { (text) } }
}

/// Every problem of a form, each with the name of its field.
pub(super) fn problems(title: &str, problems: &[FieldProblem]) -> Markup {
    html! {
        div.notice.bad role="alert" {
            strong { (title) }
            ul { @for problem in problems { li { code { (problem.field) } " " (problem.problem) } } }
        }
    }
}

/// The problems of a refusal; one of no field stands alone.
pub(super) fn refusal(title: &str, error: &ApiError) -> Markup {
    match error {
        ApiError::Fields(list) => problems(title, list),
        other => notice(Tone::Bad, &other.to_string()),
    }
}

/// The head of a page: its name, what stands beside it, its actions.
pub(super) fn head(title: &str, beside: Markup, actions: Markup) -> Markup {
    html! {
        div.head {
            div { h1 { (title) } (beside) }
            div.actions { (actions) }
        }
    }
}

/// `2026-01-31 12:00`, in UTC.
pub(super) fn time(ms: i64) -> Markup {
    let Ok(stamp) = jiff::Timestamp::from_millisecond(ms) else {
        return html! { "–" };
    };
    let exact = stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let short = stamp.strftime("%Y-%m-%d %H:%M").to_string();
    html! { time datetime=(exact) title=(exact) { (short) } }
}

/// The same to the second.
pub(super) fn time_exact(ms: i64) -> Markup {
    let Ok(stamp) = jiff::Timestamp::from_millisecond(ms) else {
        return html! { "–" };
    };
    let exact = stamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    html! { time datetime=(exact) title=(exact) { (stamp.strftime("%Y-%m-%d %H:%M:%S").to_string()) } }
}

/// A time that may not have come.
pub(super) fn maybe_time(ms: Option<i64>) -> Markup {
    match ms {
        Some(ms) => time(ms),
        None => html! { span.dim { "–" } },
    }
}

/// A word in a coloured frame.
pub(super) fn badge(kind: &str, text: &str) -> Markup {
    html! { span class={ "badge " (kind) } { (text) } }
}

/// One choice of a select.
pub(super) fn choice(value: &str, text: &str, chosen: &str) -> Markup {
    html! { option value=(value) selected[value == chosen] { (text) } }
}

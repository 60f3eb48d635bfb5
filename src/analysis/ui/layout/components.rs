//! Small pieces that several pages are made of.

use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::request::form::TOKEN;
use crate::analysis::ui::request::view::View;
use crate::analysis::{ApiError, FieldProblem};
use axum::http::StatusCode;
use maud::{Markup, html};

/// The field without which no form is taken.
pub(crate) fn token_field(view: &View) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(view.form_token()); }
}

/// What became of something, for eyes and screen readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
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
pub(crate) fn notice(tone: Tone, text: &str) -> Markup {
    let role = match tone {
        Tone::Bad => "alert",
        _ => "status",
    };
    html! { div class=(tone.class()) role=(role) { (text) } }
}

/// Every problem of a form, each with the name of its field.
pub(crate) fn problems(t: &Phrases, title: &str, problems: &[FieldProblem]) -> Markup {
    html! {
        div.notice.bad role="alert" {
            strong { (title) }
            ul { @for problem in problems { li { code { (problem.field) } " " (t.tell(&problem.problem)) } } }
        }
    }
}

/// The problems of a refusal; one that names no field is one notice.
pub(crate) fn refusal(t: &Phrases, title: &str, error: &ApiError) -> Markup {
    match error {
        ApiError::Fields(list) => problems(t, title, list),
        other => notice(Tone::Bad, &t.tell_error(other)),
    }
}

/// The content of a page for the outcome of its filter: a wrong filter is a message with status 422, any
/// other error has a page of its own.
pub(crate) fn content_or_refusal(
    view: &View,
    found: Result<Markup, ApiError>,
) -> Result<(StatusCode, Markup), Failure> {
    match found {
        Ok(content) => Ok((StatusCode::OK, content)),
        Err(error @ (ApiError::Fields(_) | ApiError::Field { .. })) => Ok((
            StatusCode::UNPROCESSABLE_ENTITY,
            refusal(view.t, view.r().wrong_filter, &error),
        )),
        Err(other) => Err(other.into()),
    }
}

/// The head of a page: its name, what is shown beside it, its actions.
pub(crate) fn head(title: &str, beside: Markup, actions: Markup) -> Markup {
    html! {
        div.head {
            div { h1 { (title) } (beside) }
            div.actions { (actions) }
        }
    }
}

/// A link of a pager.
pub(crate) struct PageLink {
    pub(crate) label: &'static str,
    pub(crate) address: String,
}

/// The links below a list: to its first page, where this is another one, and to the next page.
pub(crate) fn pager(t: &Phrases, first: Option<PageLink>, next: Option<PageLink>) -> Markup {
    let links = [first, next];
    html! {
        @if links.iter().any(Option::is_some) {
            nav.pager aria-label=(t.pages) {
                @for link in links.iter().flatten() { a.button href=(link.address) { (link.label) } }
            }
        }
    }
}

/// A secret that is shown once, with a button that copies it.
pub(crate) fn copy_box(t: &Phrases, id: &str, secret: &str) -> Markup {
    html! {
        div.copy { code id=(id) { (secret) } button type="button" data-copy={ "#" (id) } { (t.copy) } }
    }
}

/// `2026-01-31 12:00`, in UTC.
pub(crate) fn time(ms: i64) -> Markup {
    let Ok(stamp) = jiff::Timestamp::from_millisecond(ms) else {
        return html! { "–" };
    };
    let exact = stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let short = stamp.strftime("%Y-%m-%d %H:%M").to_string();
    html! { time datetime=(exact) title=(exact) { (short) } }
}

/// The same as text alone, for screen readers.
pub(crate) fn time_text(ms: i64) -> String {
    let stamp = jiff::Timestamp::from_millisecond(ms);
    stamp.map_or_else(
        |_| "–".to_owned(),
        |stamp| stamp.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// The same to the second.
pub(crate) fn time_exact(ms: i64) -> Markup {
    let Ok(stamp) = jiff::Timestamp::from_millisecond(ms) else {
        return html! { "–" };
    };
    let exact = stamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    html! { time datetime=(exact) title=(exact) { (stamp.strftime("%Y-%m-%d %H:%M:%S").to_string()) } }
}

/// Says that times are in UTC, where no script writes them in the browser's zone.
pub(crate) fn in_utc(view: &View) -> Markup {
    html! { span.unscripted { " " (view.keys().in_utc) } }
}

/// A time that may not have come.
pub(crate) fn maybe_time(ms: Option<i64>) -> Markup {
    match ms {
        Some(ms) => time(ms),
        None => html! { span.dim { "–" } },
    }
}

/// A word in a colored frame.
pub(crate) fn badge(kind: &str, text: &str) -> Markup {
    html! { span class={ "badge " (kind) } { (text) } }
}

/// One choice of a select.
pub(crate) fn choice(value: &str, text: &str, chosen: &str) -> Markup {
    html! { option value=(value) selected[value == chosen] { (text) } }
}

/// `12 345`, its groups kept together.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `12.3k`, where space is short.
pub(crate) fn short_number(value: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| value >= *unit) {
        None => value.to_string(),
        Some((unit, sign)) if value >= 100 * unit => format!("{}{sign}", value / unit),
        Some((unit, sign)) => format!("{:.1}{sign}", value as f64 / unit as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let plain = |text: String| text.replace('\u{a0}', " ");
        let grouped = [7, 999, 1_000, 1_234_567].map(|value| plain(number(value)));
        assert_eq!(grouped, ["7", "999", "1 000", "1 234 567"]);
        let short = [999, 1_000, 12_345, 456_789, 7_000_000].map(short_number);
        assert_eq!(short, ["999", "1.0k", "12.3k", "456k", "7.0M"]);
    }
}

//! The sums of the period, each with a link to its records.

use super::Records;
use crate::analysis::records::HourTraffic;
use crate::analysis::ui::layout::components::number;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

struct Tile {
    name: &'static str,
    value: String,
    beside: String,
    /// The records behind it.
    to: String,
    tone: &'static str,
}

/// `records` gives the address of the period's records with these filters.
pub(super) fn row(view: &View, total: &HourTraffic, records: &Records<'_>) -> Markup {
    let mut tiles = traffic(view, total, records);
    tiles.extend(verdicts(view, total, records));
    html! {
        ul.tiles { @for tile in &tiles {
            li { a.card href=(tile.to) {
                span.dim { (tile.name) }
                strong class=(tile.tone) { (tile.value) }
                span.dim.small { (tile.beside) }
            } }
        } }
    }
}

fn messages(total: &HourTraffic) -> u64 {
    total.prompts + total.answers
}

fn traffic(view: &View, total: &HourTraffic, records: &Records<'_>) -> Vec<Tile> {
    let (t, o, u) = (view.t, view.o(), view.u());
    let each = |sum: u64| sum.checked_div(messages(total)).unwrap_or_default();
    let to = || records(&[]);
    vec![
        Tile {
            name: o.messages,
            value: number(messages(total)),
            beside: two(o.prompts_and_answers, total.prompts, total.answers),
            to: to(),
            tone: "",
        },
        Tile {
            name: t.tokens,
            value: number(total.tokens),
            beside: o.per_message.replace("{}", &number(each(total.tokens))),
            to: to(),
            tone: "",
        },
        Tile {
            name: o.analysis_time,
            value: u.duration(each(total.total_us)),
            beside: o.longest.replace("{}", &u.duration(total.max_us)),
            to: to(),
            tone: "",
        },
    ]
}

fn verdicts(view: &View, total: &HourTraffic, records: &Records<'_>) -> Vec<Tile> {
    let (t, o) = (view.t, view.o());
    let share = |part| {
        o.of_messages
            .replace("{}", &view.u().percent(percent(part, messages(total)), 1))
    };
    let tile = |(name, count, verdict): (&'static str, u64, &str)| Tile {
        name,
        value: number(count),
        beside: share(count),
        to: records(&[("verdict", verdict)]),
        tone: match (count, verdict) {
            (0, _) => "",
            (_, "dataclean" | "unchecked") => "warn",
            _ => "bad",
        },
    };
    let sums = [
        (o.blocked, total.blocked, "blocked"),
        (o.with_sensitive_data, total.flagged_dataclean, "dataclean"),
        (t.guardrails, total.flagged_guardrails, "guardrails"),
        (
            t.custom_policies,
            total.flagged_custom_policy,
            "custom_policy",
        ),
        (o.failed, total.failed, "failed"),
        (o.passed_unchecked, total.unchecked, "unchecked"),
    ];
    sums.into_iter().map(tile).collect()
}

/// A phrase with two numbers in it.
fn two(phrase: &str, one: u64, next: u64) -> String {
    let with_one = phrase.replacen("{}", &number(one), 1);
    with_one.replacen("{}", &number(next), 1)
}

fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 * 100.0 / whole as f64,
    }
}

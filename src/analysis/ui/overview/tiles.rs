//! The sums of the period, each with a link to its records.

use super::Records;
use super::period::{self, Bucket};
use crate::analysis::records::HourTraffic;
use crate::analysis::ui::layout::components::number;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

struct Tile {
    name: &'static str,
    value: String,
    beside: String,
    /// The change against the time before, if that is known and had any.
    change: Option<String>,
    /// The records behind it.
    to: String,
    tone: &'static str,
}

/// The sums of the period, and of the time before.
pub(super) struct Totals {
    now: HourTraffic,
    before: Option<HourTraffic>,
}

impl Totals {
    pub(super) fn of(buckets: &[Bucket], before: Option<&[Bucket]>) -> Self {
        Self {
            now: period::total(buckets),
            before: before.map(period::total),
        }
    }

    /// How much more or less there is than before, in words.
    fn change(&self, view: &View, take: impl Fn(&HourTraffic) -> u64) -> Option<String> {
        let before = self
            .before
            .as_ref()
            .map(&take)
            .filter(|before| *before > 0)?;
        let change = (take(&self.now) as f64 - before as f64) * 100.0 / before as f64;
        let sign = if change >= 0.0 { "+" } else { "" };
        let percent = format!("{sign}{}", view.u().percent(change, 0));
        Some(view.o().than_before.replace("{}", &percent))
    }
}

/// `records` gives the address of the period's records with these filters.
pub(super) fn row(view: &View, totals: &Totals, records: &Records<'_>) -> Markup {
    let mut tiles = traffic(view, totals, records);
    tiles.extend(verdicts(view, totals, records));
    html! {
        ul.tiles { @for tile in &tiles {
            li { a.card href=(tile.to) {
                span.dim { (tile.name) }
                strong class=(tile.tone) { (tile.value) }
                span.dim.small { (tile.beside) }
                @if let Some(change) = &tile.change { span.dim.small { (change) } }
            } }
        } }
    }
}

fn messages(total: &HourTraffic) -> u64 {
    total.prompts + total.answers
}

fn traffic(view: &View, totals: &Totals, records: &Records<'_>) -> Vec<Tile> {
    let total = &totals.now;
    let (t, o, u) = (view.t, view.o(), view.u());
    let each = |sum: u64| sum.checked_div(messages(total)).unwrap_or_default();
    let to = || records(&[]);
    vec![
        Tile {
            name: o.messages,
            value: number(messages(total)),
            beside: two(o.prompts_and_answers, total.prompts, total.answers),
            change: totals.change(view, messages),
            to: to(),
            tone: "",
        },
        Tile {
            name: t.tokens,
            value: number(total.tokens),
            beside: o.per_message.replace("{}", &number(each(total.tokens))),
            change: totals.change(view, |sum| sum.tokens),
            to: to(),
            tone: "",
        },
        Tile {
            name: o.analysis_time,
            value: u.duration(each(total.total_us)),
            beside: o.longest.replace("{}", &u.duration(total.max_us)),
            change: None,
            to: to(),
            tone: "",
        },
    ]
}

/// What of an hour is counted.
type CountOf = fn(&HourTraffic) -> u64;

fn verdicts(view: &View, totals: &Totals, records: &Records<'_>) -> Vec<Tile> {
    let total = &totals.now;
    let (t, o) = (view.t, view.o());
    let share = |part| {
        o.of_messages
            .replace("{}", &view.u().percent(percent(part, messages(total)), 1))
    };
    let tile = |(name, verdict, take): (&'static str, &str, CountOf)| {
        let count = take(total);
        Tile {
            name,
            value: number(count),
            beside: share(count),
            change: totals.change(view, take),
            to: records(&[("verdict", verdict)]),
            tone: match (count, verdict) {
                (0, _) => "",
                (_, "dataclean" | "unchecked") => "warn",
                _ => "bad",
            },
        }
    };
    let sums: [(&'static str, &str, CountOf); 6] = [
        (o.blocked, "blocked", |sum| sum.blocked),
        (o.with_sensitive_data, "dataclean", |sum| {
            sum.flagged_dataclean
        }),
        (t.guardrails, "guardrails", |sum| sum.flagged_guardrails),
        (t.custom_policies, "custom_policy", |sum| {
            sum.flagged_custom_policy
        }),
        (o.failed, "failed", |sum| sum.failed),
        (o.passed_unchecked, "unchecked", |sum| sum.unchecked),
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

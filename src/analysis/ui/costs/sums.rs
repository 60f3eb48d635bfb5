//! The sums as bars and as a table.

use crate::analysis::api::records::filters::day_text;
use crate::analysis::records::{CostGroups, CostSum};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::layout::components::{badge, number};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::phrases::CostPhrases;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::Priced;

/// Units across the picture of a share.
const SHARE: f64 = 100.0;
/// Bars that are drawn.
const BARS: usize = 20;

pub(super) fn all(view: &View, groups: CostGroups, sums: &[CostSum], names: &Names) -> Markup {
    let c = view.c();
    html! {
        @if sums.is_empty() { div.empty { (c.no_costs) } } @else {
            @if sums.iter().any(|sum| sum.priced == Priced::Unpriced) { p.notice { (c.has_unpriced) } }
            @if sums.iter().any(|sum| sum.amount.is_some()) { (bars(c, groups, sums, names)) }
            (table(view, groups, sums, names))
        }
    }
}

/// Sums, each with its share of the highest one in its currency.
fn bars(c: &CostPhrases, groups: CostGroups, sums: &[CostSum], names: &Names) -> Markup {
    let amount = |sum: &CostSum| sum.amount.map(|amount| amount.to_f64());
    let highest = |sum: &CostSum| {
        let same = sums.iter().filter(|one| one.currency == sum.currency);
        same.filter_map(amount).fold(f64::MIN_POSITIVE, f64::max)
    };
    let share = |sum: &CostSum| amount(sum).unwrap_or_default() / highest(sum) * SHARE;
    let title = if is_by_day_alone(groups) {
        c.costs_by_day
    } else {
        c.highest_costs
    };
    html! {
        section.card.chart {
            h2 { (title) }
            ol.shares.costs { @for sum in drawn(groups, sums) {
                li {
                    span { (name(c, groups, sum, names)) }
                    svg viewBox={ "0 0 " (SHARE) " 8" } preserveAspectRatio="none" aria-hidden="true" {
                        rect.s1 x="0" y="0" width=(format!("{:.1}", share(sum))) height="8" {}
                    }
                    span.number { (cost(c, sum)) }
                }
            } }
        }
    }
}

/// The sums that are drawn: the highest ones or, by day, those of the newest days in the order of time.
fn drawn(groups: CostGroups, sums: &[CostSum]) -> Vec<&CostSum> {
    let priced = sums.iter().filter(|sum| sum.amount.is_some());
    let mut drawn: Vec<_> = priced.take(BARS).collect();
    if is_by_day_alone(groups) {
        drawn.reverse();
    }
    drawn
}

/// Of days with further groups, the sums that are drawn are those of the newest day, the highest first.
fn is_by_day_alone(groups: CostGroups) -> bool {
    groups.day && !(groups.application || groups.user || groups.model)
}

fn table(view: &View, groups: CostGroups, sums: &[CostSum], names: &Names) -> Markup {
    let (r, c) = (view.r(), view.c());
    let table = Table {
        name: c.costs,
        look: "records",
        columns: [
            Column::Text(c.group),
            Column::Number(r.cost),
            Column::Number(c.calls),
            Column::Number(c.prompt),
            Column::Number(c.cached),
            Column::Number(c.cache_write),
            Column::Number(c.completion),
            Column::Number(c.reasoning),
        ],
    };
    let cells = |sum: &CostSum| {
        let tokens = sum.tokens;
        [
            name(c, groups, sum, names),
            cost(c, sum),
            html! { (number(sum.calls)) },
            html! { (number(tokens.prompt)) },
            html! { (number(tokens.cached)) },
            html! { (number(tokens.cache_write)) },
            html! { (number(tokens.completion)) },
            html! { (number(tokens.reasoning)) },
        ]
    };
    let rows = html! { @for sum in sums { (table.row(cells(sum))) } };
    html! { div.table { (table.of(rows)) } }
}

/// What a sum is of.
fn name(c: &CostPhrases, groups: CostGroups, sum: &CostSum, names: &Names) -> Markup {
    let application = sum.application_id.map(|id| match names.get(&id) {
        Some(name) => name.clone(),
        None => id.to_string(),
    });
    let parts = [
        (groups.day, sum.day.and_then(day_text), ""),
        (groups.application, application, ""),
        (groups.user, sum.user_id.clone(), c.no_user),
        (groups.model, sum.model.clone(), c.no_model),
    ];
    let parts = parts.into_iter().filter(|(is_wanted, ..)| *is_wanted);
    html! {
        @for (at, (_, text, none)) in parts.enumerate() {
            @if at > 0 { " · " }
            @match text { Some(text) => span.cut title=(text) { (text) }, None => span.dim { (none) } }
        }
    }
}

fn cost(c: &CostPhrases, sum: &CostSum) -> Markup {
    match (sum.amount, &sum.currency) {
        (Some(amount), Some(currency)) => html! {
            (amount) " " (currency)
            @if sum.priced == Priced::Estimated { " " (badge("plain", c.estimated)) }
        },
        _ => badge("warn", c.unpriced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::Amount;
    use monitor_store::TokenSums;

    #[test]
    fn the_newest_days_are_drawn_in_the_order_of_time() {
        // As the store lists them.
        let sums: Vec<_> = (0..30).rev().map(of_day).collect();
        let by_day = CostGroups {
            day: true,
            ..CostGroups::default()
        };
        let days = |groups| drawn(groups, &sums).into_iter().filter_map(|sum| sum.day);
        assert!(days(by_day).eq(10..30));
        assert!(days(CostGroups::default()).eq((10..30).rev()));
        let by_user_too = CostGroups {
            user: true,
            ..by_day
        };
        assert!(days(by_user_too).eq((10..30).rev()));
    }

    fn of_day(day: i64) -> CostSum {
        CostSum {
            application_id: None,
            user_id: None,
            model: None,
            day: Some(day),
            currency: Some("EUR".to_owned()),
            priced: Priced::Priced,
            calls: 1,
            tokens: TokenSums::default(),
            amount: Some(Amount::of_units(1)),
        }
    }
}

//! Which charts the overview has.

use super::Records;
use super::chart::{Chart, Series, Shape, Times, Unit};
use super::period::{Bucket, Period};
use crate::analysis::ui::components::number;
use crate::analysis::ui::view::View;
use crate::model::TypeCount;
use crate::store::{HourTraffic, OTHER_FINDS};
use maud::{Markup, html};

/// Units across the picture of a share.
const SHARE: u64 = 100;

/// Everything over time.
pub(super) fn all(view: &View, period: Period, buckets: &[Bucket]) -> Markup {
    let times = Times {
        labels: buckets
            .iter()
            .step_by(period.labelled())
            .map(|one| period.label(one.from))
            .collect(),
        names: buckets.iter().map(|one| period.name(one)).collect(),
    };
    let (t, o) = (view.t, view.o());
    let row = |name, take: fn(&HourTraffic) -> u64| Series {
        name,
        values: buckets.iter().map(|bucket| take(&bucket.sum)).collect(),
    };
    let chart = |title, (shape, unit): (Shape, Unit), series| Chart {
        title,
        shape,
        unit,
        series,
        times: &times,
        table: (o.as_table, o.time),
    };
    let counted = (Shape::Bars, Unit::Count);
    let traffic = vec![
        row(t.prompts, |sum| sum.prompts),
        row(t.answers, |sum| sum.answers),
    ];
    let blocked = vec![
        row(o.blocked, |sum| sum.blocked),
        row(o.failed, |sum| sum.failed),
    ];
    let flagged = vec![
        row(t.sensitive_data, |sum| sum.flagged_dataclean),
        row(t.guardrails, |sum| sum.flagged_guardrails),
        row(t.custom_policies, |sum| sum.flagged_custom_policy),
    ];
    let tokens = vec![row(t.tokens, |sum| sum.tokens)];
    let time = vec![row(o.mean, mean)];
    html! {
        (chart(o.traffic, counted, traffic).markup())
        (chart(o.blocked_and_failed, counted, blocked).markup())
        (chart(o.flagged_by_check, (Shape::Lines, Unit::Count), flagged).markup())
        (chart(o.tokens_over_time, counted, tokens).markup())
        (chart(o.mean_analysis_time, (Shape::Bars, Unit::Microseconds), time).markup())
    }
}

/// Finds by type: a list, each with its share as a bar. Of all applications together, `is_whole`, those of
/// their own patterns are one that no list of records can be narrowed to.
pub(super) fn types(
    view: &View,
    (types, is_whole): (&[TypeCount], bool),
    records: &Records<'_>,
) -> Markup {
    let o = view.o();
    let most = types.iter().map(|found| found.count).max();
    let most = most.unwrap_or_default().max(1);
    html! {
        section.card.chart {
            h2 { (o.finds_by_type) }
            @if types.is_empty() { p.dim { (o.nothing_found_then) } }
            ol.shares { @for found in types {
                li {
                    @if is_whole && found.kind == OTHER_FINDS { span.dim { (o.other_finds) } } @else { a href=(records(&[("type", &found.kind)])) { (found.kind) } }
                    svg viewBox={ "0 0 " (SHARE) " 8" } preserveAspectRatio="none" aria-hidden="true" {
                        rect.s1 x="0" y="0" width=(format!("{:.1}", found.count as f64 * SHARE as f64 / most as f64)) height="8" {}
                    }
                    span.number { (number(found.count)) }
                }
            } }
        }
    }
}

fn mean(sum: &HourTraffic) -> u64 {
    let messages = sum.prompts + sum.answers;
    sum.total_us.checked_div(messages).unwrap_or_default()
}

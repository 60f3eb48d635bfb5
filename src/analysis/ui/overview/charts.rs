//! Which charts the overview has.

use super::Records;
use super::period::{Bucket, Period};
use crate::analysis::records::{HourTraffic, OTHER_FINDS};
use crate::analysis::ui::layout::chart::{Chart, ChartTexts, Series, Shape, Times, Unit};
use crate::analysis::ui::layout::components::number;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::TypeCount;

/// Units across the picture of a share.
const SHARE: u64 = 100;

/// The data and texts that all charts share.
struct ChartBase<'a> {
    buckets: &'a [Bucket],
    times: Times,
    texts: ChartTexts,
}

impl ChartBase<'_> {
    fn row(&self, name: &'static str, take: fn(&HourTraffic) -> u64) -> Series {
        let values = self.buckets.iter().map(|bucket| take(&bucket.sum));
        Series {
            name,
            values: values.collect(),
        }
    }

    fn chart(&self, title: &'static str, shape: Shape, unit: Unit, series: Vec<Series>) -> Markup {
        let chart = Chart {
            title,
            shape,
            series,
            times: &self.times,
            unit,
            texts: self.texts,
        };
        chart.markup()
    }
}

/// Everything over time.
pub(super) fn all(view: &View, period: Period, buckets: &[Bucket]) -> Markup {
    let labelled = buckets.iter().step_by(period.labelled());
    let base = ChartBase {
        buckets,
        times: Times {
            labels: labelled.map(|one| period.label(one.from)).collect(),
            names: buckets.iter().map(|one| period.name(one)).collect(),
        },
        texts: ChartTexts {
            highest: view.o().longest,
            units: view.u(),
            summary: view.o().as_table,
            first_column: view.o().time,
        },
    };
    html! { (counts(view, &base)) (costs(view, &base)) }
}

/// Traffic and verdicts.
fn counts(view: &View, base: &ChartBase<'_>) -> Markup {
    let (t, o) = (view.t, view.o());
    let traffic = vec![
        base.row(t.prompts, |sum| sum.prompts),
        base.row(t.answers, |sum| sum.answers),
    ];
    let blocked = vec![
        base.row(o.blocked, |sum| sum.blocked),
        base.row(o.failed, |sum| sum.failed),
    ];
    let flagged = vec![
        base.row(t.sensitive_data, |sum| sum.flagged_dataclean),
        base.row(t.guardrails, |sum| sum.flagged_guardrails),
        base.row(t.custom_policies, |sum| sum.flagged_custom_policy),
    ];
    html! {
        (base.chart(o.traffic, Shape::Bars, Unit::Count, traffic))
        (base.chart(o.blocked_and_failed, Shape::Bars, Unit::Count, blocked))
        (base.chart(o.flagged_by_check, Shape::Lines, Unit::Count, flagged))
    }
}

/// Tokens and time.
fn costs(view: &View, base: &ChartBase<'_>) -> Markup {
    let (t, o) = (view.t, view.o());
    let tokens = vec![base.row(t.tokens, |sum| sum.tokens)];
    let time = vec![base.row(o.mean, mean)];
    html! {
        (base.chart(o.tokens_over_time, Shape::Bars, Unit::Count, tokens))
        (base.chart(o.mean_analysis_time, Shape::Bars, Unit::Microseconds, time))
    }
}

/// Finds by type: a list, each with its share as a bar. For all applications together (`is_whole`), finds
/// of custom patterns are one entry without a link, since no filter selects them.
pub(super) fn types(
    view: &View,
    types: &[TypeCount],
    is_whole: bool,
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

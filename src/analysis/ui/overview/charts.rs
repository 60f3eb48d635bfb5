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

/// What the charts are of.
pub(super) struct ChartData<'a> {
    pub(super) period: Period,
    pub(super) buckets: &'a [Bucket],
    /// The buckets of the time before; empty where it is not known.
    pub(super) before: &'a [Bucket],
    /// Where each bucket leads.
    pub(super) links: Vec<String>,
}

/// The data and texts that all charts share.
struct ChartBase<'a> {
    buckets: &'a [Bucket],
    before: &'a [Bucket],
    before_name: &'static str,
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

    /// Bars of counts, with those of the time before where they are known.
    fn compared(
        &self,
        title: &'static str,
        series: Vec<Series>,
        take: fn(&HourTraffic) -> u64,
    ) -> Markup {
        let before = self.before.iter().map(|bucket| take(&bucket.sum));
        let before = (!self.before.is_empty()).then(|| Series {
            name: self.before_name,
            values: before.collect(),
        });
        let chart = Chart {
            title,
            shape: Shape::Bars,
            series,
            before,
            times: &self.times,
            unit: Unit::Count,
            texts: self.texts,
        };
        chart.markup()
    }

    fn chart(&self, title: &'static str, shape: Shape, unit: Unit, series: Vec<Series>) -> Markup {
        let chart = Chart {
            title,
            shape,
            series,
            before: None,
            times: &self.times,
            unit,
            texts: self.texts,
        };
        chart.markup()
    }
}

/// Everything over time.
pub(super) fn all(view: &View, data: ChartData<'_>) -> Markup {
    let ChartData {
        period,
        buckets,
        before,
        links,
    } = data;
    let labelled = buckets.iter().step_by(period.labelled());
    let base = ChartBase {
        buckets,
        before,
        before_name: view.o().period_before,
        times: Times {
            labels: labelled.map(|one| period.label(one.from)).collect(),
            names: buckets.iter().map(|one| period.name(one)).collect(),
            links,
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
        (base.compared(o.traffic, traffic, |sum| sum.prompts + sum.answers))
        (base.compared(o.blocked_and_failed, blocked, |sum| sum.blocked + sum.failed))
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

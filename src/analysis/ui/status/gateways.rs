//! The gateways known here: from the records they send, and from their own reports.

use crate::analysis::Services;
use crate::analysis::clock::now_ms;
use crate::analysis::ingest::gateways::registry::ReceivedReport;
use crate::analysis::records::GatewaySeen;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, maybe_time, number};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use uuid::Uuid;

/// Gateways that are looked at.
const MOST: u32 = 100;
/// Gateways that the short list names.
const NAMED: usize = 5;
/// A report older than this does not count as current.
const FRESH_SECONDS: u64 = 300;

/// A gateway, by either source.
pub(crate) struct KnownGateway {
    gateway: Uuid,
    seen: Option<GatewaySeen>,
    heard: Option<ReceivedReport>,
    /// It runs in this process.
    is_beside: bool,
}

/// Every gateway that is known here, the one with the latest record first.
pub(crate) async fn known(services: &Services) -> Result<Vec<KnownGateway>, Failure> {
    let mut heard = services.gateway_reports.all().await?;
    let own = services.ingest.gateways.own_report();
    let own = own.map(|report| report.gateway);
    let seen = services.records.gateways(MOST).await?.into_iter();
    let mut known: Vec<_> = seen
        .map(|seen| KnownGateway {
            gateway: seen.gateway,
            heard: heard.remove(&seen.gateway),
            is_beside: own == Some(seen.gateway),
            seen: Some(seen),
        })
        .collect();
    known.extend(heard.into_iter().map(|(gateway, heard)| KnownGateway {
        gateway,
        seen: None,
        heard: Some(heard),
        is_beside: own == Some(gateway),
    }));
    Ok(known)
}

/// A line each.
pub(crate) fn short(view: &View, known: &[KnownGateway]) -> Markup {
    let o = view.o();
    html! {
        @if known.is_empty() { p.dim { (o.no_gateways) } }
        @for one in known.iter().take(NAMED) {
            p.facts { code { (one.gateway) } (state(view, one))
                @if let Some(heard) = &one.heard {
                    span { (o.waiting_records) ": " (number(heard.report.records)) }
                    @if let Some(own) = heard.report.overhead { span { (o.own_overhead) ": " (view.u().duration(own.mean_us)) } }
                }
            }
        }
        @if known.len() > NAMED { p.dim { (o.chain_more.replace("{}", &number((known.len() - NAMED) as u64))) } }
    }
}

pub(super) fn table(view: &View, known: &[KnownGateway]) -> Markup {
    let o = view.o();
    let table = Table {
        name: o.gateways,
        look: "records",
        columns: [
            Column::Text(o.gateway),
            Column::Text(o.version),
            Column::Text(o.waiting_records),
            Column::Number(o.dead_letters),
            Column::Text(o.spool_disk),
            Column::Text(o.heard),
            Column::Number(o.own_overhead),
            Column::Number(o.numbers),
            Column::Text(o.latest_record),
        ],
    };
    let rows = html! { @for one in known { (table.row(cells(view, one))) } };
    html! {
        @if known.is_empty() { div.empty { (o.no_gateways) } } @else {
            div.table tabindex="0" role="region" aria-label=(o.gateways) { (table.of(rows)) }
        }
    }
}

fn cells(view: &View, one: &KnownGateway) -> [Markup; 9] {
    let o = view.o();
    let gateway = html! { code.small { (one.gateway) } @if one.is_beside { " " (badge("accent", o.beside)) } };
    let latest = maybe_time(one.seen.and_then(|seen| seen.latest_ms));
    let last =
        html! { @match one.seen { Some(seen) => (number(seen.last)), None => span.dim { "–" } } };
    let [version, waiting, letters, disk, overhead] = reported(view, one);
    let heard = heard(view, one);
    [
        gateway, version, waiting, letters, disk, heard, overhead, last, latest,
    ]
}

/// The cells from a gateway's own report: version, records in its spool, dead letters,
/// disk, added latency.
fn reported(view: &View, one: &KnownGateway) -> [Markup; 5] {
    let o = view.o();
    let Some(heard) = &one.heard else {
        return std::array::from_fn(|_| html! { span.dim { (o.unknown) } });
    };
    let report = &heard.report;
    let oldest = o.oldest.replace("{}", &view.u().age(report.oldest_seconds));
    [
        html! { (report.version) },
        html! { (number(report.records))
        @if report.records > 0 { span.dim { " · " (view.u().size(report.bytes)) " · " (oldest) } } },
        html! { @if report.dead_letters > 0 { (badge("warn", &number(report.dead_letters))) } @else { "0" } },
        html! { @if report.degraded { (badge("bad", o.disk_refuses)) } @else { (badge("good", o.disk_works)) } },
        html! { @match report.overhead {
            Some(own) => span title=(o.own_overhead_hint) { (view.u().duration(own.mean_us)) },
            None => span.dim { "–" },
        } },
    ]
}

fn seconds_since(heard: &ReceivedReport) -> u64 {
    let since = now_ms().saturating_sub(heard.at_ms).max(0);
    since.unsigned_abs() / 1000
}

fn heard(view: &View, one: &KnownGateway) -> Markup {
    let o = view.o();
    match &one.heard {
        None => html! { span.dim { (o.unknown) } },
        Some(_) if one.is_beside => html! { (o.now) },
        Some(heard) => html! { (o.ago.replace("{}", &view.u().age(seconds_since(heard)))) },
    }
}

/// One word on a gateway.
fn state(view: &View, one: &KnownGateway) -> Markup {
    let o = view.o();
    match &one.heard {
        Some(heard) if heard.report.degraded => badge("bad", o.disk_refuses),
        Some(heard) if heard.report.dead_letters > 0 => badge("warn", o.dead_letters),
        Some(heard) if seconds_since(heard) <= FRESH_SECONDS => badge("good", o.disk_works),
        _ => html! { span.dim { (o.unknown) } },
    }
}

//! Whether records of a gateway are missing (CONTRACT 5), as a fragment that the overview loads after
//! the page: it counts every number, which takes longer than a page may. Without scripts it is a page
//! of its own.

use crate::analysis::Services;
use crate::analysis::records::ChainFilter;
use crate::analysis::records::chain_report::{ChainPage, ChainReport};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, head, number};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::Span;
use std::sync::Arc;

/// Gateways that are shown.
const GATEWAYS: u32 = 20;
/// Spans of a list that are named.
const NAMED: usize = 8;

/// The placeholder of the fragment, of a fixed size.
pub(super) fn place(view: &View) -> Markup {
    let o = view.o();
    html! {
        section.card {
            h2 { (o.chain) }
            p.hint { (o.chain_hint) }
            div.lazy #chain tabindex="0" role="region" aria-label=(o.chain) data-load="/ui/overview/chain" {
                p.dim.scripted { (o.chain_loading) }
                a.button.unscripted href="/ui/overview/chain" { (o.chain_check) }
            }
        }
    }
}

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    headers: HeaderMap,
) -> Result<Html<String>, Failure> {
    visit.must_read()?;
    let filter = ChainFilter {
        limit: GATEWAYS,
        from: 1,
        ..ChainFilter::default()
    };
    let found = services.records.chains(&visit.caller, filter).await?;
    let content = list(&visit.view, &found);
    let o = visit.view.o();
    Ok(match headers.contains_key("x-fragment") {
        true => Html(content.into_string()),
        false => layout::page(
            &visit,
            Section::Overview,
            o.chain,
            html! { (head(o.chain, html! { p.dim { (o.chain_hint) } }, html! {})) section.card { (content) } },
        ),
    })
}

fn list(view: &View, found: &ChainPage) -> Markup {
    let o = view.o();
    html! {
        @if found.gateways.is_empty() { p.dim { (o.chain_none) } }
        @for one in &found.gateways { (report(view, one)) }
        @if found.next_after.is_some() { p { a href="/docs" { code { "GET /chain" } } } }
    }
}

fn report(view: &View, one: &ChainReport) -> Markup {
    let o = view.o();
    let verdict = match (
        one.complete,
        one.gaps.is_empty(),
        one.broken_links.is_empty(),
    ) {
        (true, ..) => badge("good", o.chain_complete),
        (false, true, true) => badge("warn", o.chain_open),
        _ => badge("bad", o.chain_gaps),
    };
    let broken: Vec<_> = one
        .broken_links
        .iter()
        .map(|at| Span::new(*at, *at))
        .collect();
    let lists = [
        (o.chain_missing, &one.gaps),
        (o.chain_vanished, &one.vanished),
        (o.chain_interrupted, &one.interrupted),
        (o.chain_broken, &broken),
    ];
    html! {
        div.gateway {
            p.facts { code { (one.gateway) } (verdict)
                span { (o.records_count) ": " (number(one.count)) }
                span { (o.chain_checked) ": " (span_text(&one.checked)) }
                @if one.repeats > 0 { span { (o.chain_repeats) ": " (number(one.repeats)) } }
            }
            @for (name, spans) in lists { @if !spans.is_empty() {
                p.problem { (name) ": "
                    @for (at, span) in spans.iter().take(NAMED).enumerate() { @if at > 0 { ", " } (span_text(span)) }
                    @if spans.len() > NAMED { " " (o.chain_more.replace("{}", &number((spans.len() - NAMED) as u64))) }
                }
            } }
        }
    }
}

fn span_text(span: &Span) -> String {
    match span.from == span.to {
        true => number(span.from),
        false => format!("{}–{}", number(span.from), number(span.to)),
    }
}

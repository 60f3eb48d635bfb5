//! `/ui/status`: this server, its store, the services it calls, and the gateways it knows. For people who
//! are bound to no application. It shows no addresses or secrets of other servers.
//!
//! Without the store nobody can be recognized: then the page says that the store does not respond, and nothing else.

pub(super) mod gateways;
pub(super) mod remote_checks;
mod siem;

use crate::analysis::records::StoreFacts;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, head, number};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use crate::config::BlobPlace;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use maud::{Markup, html};
use monitor_model::{GATEWAY_VERSION, SCHEMA_VERSION};
use std::sync::Arc;

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    view: View,
    visit: Result<Visit, Failure>,
) -> Result<Response, Failure> {
    let shown = match visit {
        Ok(visit) => whole(&services, &visit).await,
        Err(failure) => Err(failure),
    };
    match shown {
        Err(Failure::Refused(ApiError::StoreDown)) => Ok(without_store(&services, &view)),
        shown => Ok(shown?.into_response()),
    }
}

fn without_store(services: &Services, view: &View) -> Response {
    let o = view.o();
    let text = o.store_away.replace("{}", services.records.store_kind());
    let page = layout::error_page(view, o.status, &text);
    let retry = [(header::RETRY_AFTER, HeaderValue::from_static("1"))];
    (StatusCode::SERVICE_UNAVAILABLE, retry, page).into_response()
}

async fn whole(services: &Services, visit: &Visit) -> Result<Html<String>, Failure> {
    visit.must_see_applications()?;
    visit.caller.must_be_unbound()?;
    let facts = services.records.store_facts().await?;
    let known = gateways::known(services).await?;
    let (view, o) = (&visit.view, visit.view.o());
    let siem = siem::card(services, view).await?;
    let content = html! {
        (head(o.status, html! { p.dim { (o.status_hint) } }, html! {}))
        div.halves {
            div { (server(services, view)) (remote_checks::card(services, view)) }
            div { (store(services, view, &facts)) (stages(services, view)) (siem) }
        }
        h2 { (o.gateways) }
        p.hint { (o.gateways_hint) }
        (gateways::table(view, &known))
    };
    Ok(layout::page(visit, Section::Status, o.status, content))
}

fn server(services: &Services, view: &View) -> Markup {
    let o = view.o();
    html! {
        section.card {
            h2 { (o.server) }
            dl.pairs {
                dt { (o.version) } dd { (GATEWAY_VERSION) }
                dt { "API" } dd { (SCHEMA_VERSION) }
                dt { (o.running_for) } dd { (view.u().age(services.started.elapsed().as_secs())) }
            }
        }
    }
}

fn store(services: &Services, view: &View, facts: &StoreFacts) -> Markup {
    let (o, settings) = (view.o(), &services.settings);
    let files = match &settings.blobs {
        Some(BlobPlace::Bucket { .. }) => o.bucket,
        Some(BlobPlace::Folder(_)) | None => o.folder,
    };
    let kept = settings.retention;
    let bounds = [
        kept.days
            .map(|days| o.days.replace("{}", &number(days.into()))),
        kept.rows.map(|rows| o.rows.replace("{}", &number(rows))),
        kept.bytes.map(|bytes| view.u().size(bytes)),
    ];
    let bounds: Vec<_> = bounds.into_iter().flatten().collect();
    html! {
        section.card {
            h2 { (o.store) }
            dl.pairs {
                dt { (o.store) } dd { (facts.kind) " " (facts.version) " " (badge("good", o.answers)) }
                dt { (o.schema) } dd { (facts.schema) }
                dt { (o.size) } dd { (view.u().size(facts.bytes)) }
                dt { (o.files) } dd { (files) }
                dt { (o.keeps) } dd { @if bounds.is_empty() { (o.no_bound) } @else { (bounds.join(" · ")) } }
            }
        }
    }
}

fn stages(services: &Services, view: &View) -> Markup {
    let (t, o, settings) = (view.t, view.o(), &services.settings);
    let services = settings.services;
    let switch = |is_on| match is_on {
        true => badge("good", o.on),
        false => badge("warn", o.off),
    };
    html! {
        section.card {
            h2 { (o.stages) }
            dl.pairs {
                dt { (t.sensitive_data) } dd { (switch(services.dataclean)) }
                dt { (t.guardrails) } dd { (switch(services.guardrails)) }
                dt { (t.custom_policies) } dd { (switch(services.custom_policy)) }
                dt { (o.tagger) } dd { @if settings.detect.tagger.is_some() { (switch(true)) } @else { span.dim { (o.not_configured) } } }
            }
        }
    }
}

//! The health of the server in short; `/ui/status` has the rest.

use crate::analysis::Services;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::status::{gateways, remote_checks};
use maud::{Markup, html};

pub(super) async fn card(services: &Services, view: &View) -> Result<Markup, Failure> {
    let o = view.o();
    let known = gateways::known(services).await?;
    Ok(html! {
        section.card {
            div.head { h2 { (o.health) } a href="/ui/status" { (o.details) } }
            dl.pairs {
                dt { (o.store) } dd { (services.records.store_kind()) " " (badge("good", o.answers)) }
                @for (name, state) in remote_checks::servers(services, view) { dt { (name) } dd { (remote_checks::badge(view, state)) } }
            }
            h3 { (o.gateways) }
            (gateways::short(view, &known))
        }
    })
}

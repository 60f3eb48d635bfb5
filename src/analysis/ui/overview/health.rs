//! How the server's parts are, in short; `/ui/status` has the rest.

use crate::analysis::Services;
use crate::analysis::ui::components::badge;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::status::{asked, gateways};
use crate::analysis::ui::view::View;
use maud::{Markup, html};

pub(super) async fn card(services: &Services, view: &View) -> Result<Markup, Failure> {
    let o = view.o();
    let known = gateways::known(services).await?;
    Ok(html! {
        section.card {
            div.head { h2 { (o.health) } a href="/ui/status" { (o.details) } }
            dl.pairs {
                dt { (o.store) } dd { (services.records.store_kind()) " " (badge("good", o.answers)) }
                @for (name, state) in asked::servers(services, view) { dt { (name) } dd { (asked::badge(view, state)) } }
            }
            h3 { (o.gateways) }
            (gateways::short(view, &known))
        }
    })
}

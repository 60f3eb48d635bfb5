//! The destinations of events: how far each is behind, and why it takes none. No address, no token.

use crate::analysis::ui::layout::components::{badge, number};
use crate::analysis::ui::request::view::View;
use crate::analysis::{ApiError, Services};
use maud::{Markup, html};

/// Empty without a destination.
pub(super) async fn card(services: &Services, view: &View) -> Result<Markup, ApiError> {
    let states = services.siem.states().await?;
    let (o, units) = (view.o(), view.u());
    Ok(html! {
        @if !states.is_empty() {
            section.card {
                h2 { (o.siem) }
                dl.pairs {
                    @for state in &states {
                        dt { (state.name) }
                        dd {
                            @match &state.error {
                                Some(_) => { (badge("bad", o.siem_fails)) }
                                None => { (badge("good", o.siem_works)) }
                            }
                            " " span.dim { (o.siem_waiting.replace("{}", &number(state.waiting))) }
                            @if state.waiting > 0 {
                                " " span.dim { (o.oldest.replace("{}", &units.age(state.oldest_seconds))) }
                            }
                            @if let Some(error) = &state.error { " " span.dim lang="en" { (error) } }
                        }
                    }
                }
            }
        }
    })
}

//! Links between the pages of one's own account.

use crate::analysis::ui::paths::{OWN_SIGN_INS, SECOND_FACTOR};
use crate::analysis::ui::request::Visit;
use maud::{Markup, html};

/// The pages that there are for this account.
pub(super) fn links(visit: &Visit) -> Markup {
    let (t, s) = (visit.view.t, visit.view.s());
    html! {
        @if visit.account.password.is_some() {
            a.button href="/ui/password" { (t.password) }
            a.button href=(SECOND_FACTOR) { (s.second_factor) }
        }
        a.button href=(OWN_SIGN_INS) { (s.sign_ins) }
    }
}

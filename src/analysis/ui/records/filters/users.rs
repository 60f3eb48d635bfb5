//! A filter by a user whom no record names: users whose names contain what was typed.

use crate::analysis::ui::records::bounded_text::{self, LinkStyle};
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

/// The users that may be meant, with links to their records.
pub(crate) fn meant(view: &View, query: &ListQuery, users: &[String]) -> Markup {
    let r = view.r();
    let of_user = |user: &str| query.with("user_id", Some(user)).address("/ui/records");
    html! {
        @if !users.is_empty() {
            div.notice role="status" {
                (r.users_meant) " "
                @for (at, user) in users.iter().enumerate() {
                    @if at > 0 { ", " } (bounded_text::link(user, LinkStyle::plain(""), of_user))
                }
            }
        }
    }
}

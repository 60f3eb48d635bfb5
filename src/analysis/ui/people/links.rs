//! Names of users and applications as these pages show and link them.

use crate::analysis::api::records::filters::day_text;
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::layout::highlight::beginning;
use crate::analysis::ui::paths::address;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::ApplicationId;

/// Characters of a name that are shown.
const SHOWN: usize = 60;

/// The beginning of a name.
pub(super) fn name(user: &str) -> String {
    match beginning(user, SHOWN) {
        (first, true) => format!("{first}…"),
        (whole, false) => whole.to_owned(),
    }
}

/// An application's name, which leads to its users.
pub(super) fn application(view: &View, id: ApplicationId, names: &Names) -> Markup {
    let to = address("/ui/people", &[("application_id", &id.to_string())]);
    html! {
        a.plain.cut href=(to) title=(id) {
            @match names.get(&id) { Some(name) => (name), None => span.dim { (view.r().removed_application) } }
        }
    }
}

/// The page of a user in these days.
pub(super) fn user_address(application: ApplicationId, user: &str, days: (i64, i64)) -> String {
    let (from, to) = (day_text(days.0), day_text(days.1));
    let parts = [
        ("application_id", application.to_string()),
        ("user_id", user.to_owned()),
        ("from", from.unwrap_or_default()),
        ("to", to.unwrap_or_default()),
    ];
    of_parts("/ui/people/user", &parts, &[])
}

/// The records of a user in these days that further parts of a filter narrow.
pub(super) fn records_address(
    application: ApplicationId,
    user: &str,
    days: (i64, i64),
    further: &[(&str, &str)],
) -> String {
    let midnight = |day| day_text(day).map(|day| format!("{day}T00:00"));
    let parts = [
        ("application_id", application.to_string()),
        ("user_id", user.to_owned()),
        ("from", midnight(days.0).unwrap_or_default()),
        ("to", midnight(days.1 + 1).unwrap_or_default()),
    ];
    of_parts("/ui/records", &parts, further)
}

fn of_parts(path: &str, parts: &[(&str, String)], further: &[(&str, &str)]) -> String {
    let own = parts.iter().map(|(name, text)| (*name, text.as_str()));
    let all: Vec<_> = own.chain(further.iter().copied()).collect();
    address(path, &all)
}

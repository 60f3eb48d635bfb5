//! Language, theme and the zone of times, kept in the browser.

use crate::analysis::ui::paths;
use crate::analysis::ui::request::cookie;
use crate::analysis::ui::request::form::PublicForm;
use crate::analysis::ui::request::view::{Clock, Language, Theme, View};
use axum::http::header;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use monitor_model::Secret;
use std::time::Duration;

const LASTS: Duration = Duration::from_secs(365 * 86_400);

pub(super) async fn keep(view: View, PublicForm(form): PublicForm) -> Response {
    let language = form.value("language").and_then(Language::from_code);
    let theme = form.value("theme").and_then(Theme::from_word);
    let clock = form.value("clock").and_then(Clock::from_word);
    let chosen = [
        language.map(|language| (cookie::LANGUAGE, language.code())),
        theme.map(|theme| (cookie::THEME, theme.word())),
        clock.map(|clock| (cookie::CLOCK, clock.word())),
    ];
    let cookies = chosen.into_iter().flatten().filter_map(|(name, word)| {
        let set = cookie::set(name, &Secret::new(word), Some(LASTS), view.peer.is_tls)?;
        Some((header::SET_COOKIE, set))
    });
    let cookies: Vec<_> = cookies.collect();
    (
        AppendHeaders(cookies),
        Redirect::to(paths::own_page(form.text("next"))),
    )
        .into_response()
}

//! Language and theme, kept in the browser.

use super::cookie;
use super::form::Form;
use super::view::{Language, Theme, View};
use axum::http::header;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use monitor_model::{ApplicationId, Secret};
use std::time::Duration;

const LASTS: Duration = Duration::from_secs(365 * 86_400);

pub(super) async fn keep(view: View, form: Form) -> Response {
    let language = form.given("language").and_then(Language::from_code);
    let theme = form.given("theme").and_then(Theme::from_word);
    let chosen = [
        language.map(|language| (cookie::LANGUAGE, language.code())),
        theme.map(|theme| (cookie::THEME, theme.word())),
    ];
    let cookies = chosen.into_iter().flatten().filter_map(|(name, word)| {
        let set = cookie::set(name, &Secret::new(word), Some(LASTS), view.peer.is_tls)?;
        Some((header::SET_COOKIE, set))
    });
    let cookies: Vec<_> = cookies.collect();
    (
        AppendHeaders(cookies),
        Redirect::to(own_page(form.text("next"))),
    )
        .into_response()
}

/// A page of ours to go on with; any other address is not followed.
pub(super) fn own_page(path: &str) -> &str {
    let is_ours = path == "/ui" || path.starts_with("/ui/") || path.starts_with("/ui?");
    let is_plain = path
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    match is_ours && is_plain {
        true => path,
        false => "/ui",
    }
}

/// The page that leads back to what a form with this path made, which no address shows again.
pub(super) fn way_back(path: &str) -> &str {
    let is_application = |id: &str| id.parse::<ApplicationId>().is_ok();
    let mut parts = path.strip_prefix("/ui/").unwrap_or_default().split('/');
    let kept = match (parts.next(), parts.next()) {
        (Some("sign-out" | "preferences" | ""), _) | (None, _) => 1,
        (Some("link"), Some(_)) => 3,
        (Some("applications"), Some(id)) if is_application(id) => 3,
        _ => 2,
    };
    let ends = path.match_indices('/').nth(kept);
    ends.map_or(path, |(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::{own_page, way_back};

    #[test]
    fn only_pages_of_ours_are_followed() {
        assert_eq!(own_page("/ui/records?text=a%20b"), "/ui/records?text=a%20b");
        for other in [
            "",
            "//evil.example",
            "https://evil.example/ui/",
            "/ui\\..",
            "/uix",
            "/records",
            "/ui/a\r\nb",
        ] {
            assert_eq!(own_page(other), "/ui", "{other:?}");
        }
    }

    #[test]
    fn what_a_form_made_leads_back_to_a_page() {
        let one = "/ui/applications/00000000-0000-4000-8000-000000000000";
        for (path, page) in [
            ("/ui/users", "/ui/users"),
            ("/ui/users/7/edit", "/ui/users"),
            ("/ui/records/filters/7/remove", "/ui/records"),
            ("/ui/applications/try", "/ui/applications"),
            (one, one),
            (&format!("{one}/restore"), one),
            ("/ui/link/mon_x", "/ui/link/mon_x"),
            ("/ui/sign-out", "/ui"),
            ("/ui/preferences", "/ui"),
            ("/ui", "/ui"),
        ] {
            assert_eq!(way_back(path), page, "{path}");
        }
    }
}

//! Addresses of pages that more than one module names, and which addresses are ours to return to.

use crate::analysis::people::AccountId;
use monitor_model::ApplicationId;

/// The path of one-time links, which the value of one follows.
pub const LINK_PATH: &str = "/ui/link/";

/// The path of forms that are shown again, which the identifier of one follows.
pub(crate) const KEPT_FORM: &str = "/ui/kept/";

/// The parameter of a form's address with the token of the account it was made for.
pub(crate) const FORM_OWNER: &str = "form";

/// One's own second factor.
pub(crate) const SECOND_FACTOR: &str = "/ui/second-factor";

/// Where one's own account is signed in.
pub(crate) const OWN_SIGN_INS: &str = "/ui/sign-ins";

/// Where somebody's account is signed in.
pub(crate) fn sign_ins_of(id: AccountId) -> String {
    format!("/ui/users/{}/sign-ins", id.0)
}

/// Where an identity provider sends the browser back to.
pub(crate) const OIDC_CALLBACK: &str = "/ui/oidc/callback";

/// An address with these parts, whatever their text.
pub(crate) fn address(path: &str, parts: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parts);
    format!("{path}?{}", query.finish())
}

/// The address if it is a page of the UI, else the start page: no redirect leaves this host.
pub(crate) fn own_page(path: &str) -> &str {
    let is_ours = path == "/ui" || path.starts_with("/ui/") || path.starts_with("/ui?");
    let is_plain = path
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    match is_ours && is_plain {
        true => path,
        false => "/ui",
    }
}

/// Whether somebody sees a page who still has to set up a second factor.
pub(crate) fn is_open_before_set_up(path: &str) -> bool {
    let below = path.strip_prefix(SECOND_FACTOR);
    path == "/ui/sign-out" || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The page to show again after a form with this path was sent: the form's own address answers only to POST.
pub(crate) fn page_of_form(path: &str) -> &str {
    // Records have identifiers of the same form.
    let is_identifier = |id: &str| id.parse::<ApplicationId>().is_ok();
    let mut parts = path.strip_prefix("/ui/").unwrap_or_default().split('/');
    let kept = match (parts.next(), parts.next()) {
        (Some("sign-out" | "preferences" | ""), _) | (None, _) => 1,
        (Some("link"), Some(_)) => 3,
        (Some("applications" | "records"), Some(id)) if is_identifier(id) => 3,
        _ => 2,
    };
    let ends = path.match_indices('/').nth(kept);
    ends.map_or(path, |(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::{is_open_before_set_up, own_page, page_of_form};

    #[test]
    fn before_a_second_factor_is_set_up_its_page_alone_is_open() {
        for path in ["/ui/second-factor", "/ui/second-factor/on", "/ui/sign-out"] {
            assert!(is_open_before_set_up(path), "{path}");
        }
        for path in ["/ui", "/ui/users", "/ui/second-factors", "/ui/sign-ins"] {
            assert!(!is_open_before_set_up(path), "{path}");
        }
    }

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
        let record = "/ui/records/00000000-0000-4000-8000-000000000000";
        for (path, page) in [
            ("/ui/users", "/ui/users"),
            ("/ui/users/7/edit", "/ui/users"),
            ("/ui/records/filters/7/remove", "/ui/records"),
            ("/ui/applications/try", "/ui/applications"),
            (one, one),
            (&format!("{one}/restore"), one),
            (&format!("{record}/original"), record),
            ("/ui/link/mon_x", "/ui/link/mon_x"),
            ("/ui/sign-out", "/ui"),
            ("/ui/preferences", "/ui"),
            ("/ui", "/ui"),
        ] {
            assert_eq!(page_of_form(path), page, "{path}");
        }
    }
}

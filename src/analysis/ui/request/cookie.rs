//! Cookies of the UI: reading them out of a request, writing them into a response. Over TLS their
//! names begin with `__Host-`, which ties them to this host and to TLS; in clear text (loopback) a
//! browser would not take such a name.

use axum::http::{HeaderMap, HeaderValue, header};
use axum_extra::extract::cookie::{Cookie, SameSite};
use monitor_model::Secret;
use std::time::Duration;

/// The value of a browser that is, or was, signed in: forms are bound to it.
pub(crate) const BROWSER: &str = "monitor";
/// That of one which is not. It has a name of its own, since a browser that comes by another site's link
/// brings no cookie along, and what it is given then must not take a sign-in's place.
pub(crate) const VISITOR: &str = "monitor_visitor";
/// `en` or `ru`.
pub(crate) const LANGUAGE: &str = "monitor_language";
/// `light` or `dark`.
pub(crate) const THEME: &str = "monitor_theme";
/// `utc`, or `local` for the zone of the browser.
pub(crate) const CLOCK: &str = "monitor_clock";

/// A sign-in that is under way at another server.
pub(crate) const OIDC: &str = "monitor_oidc";

/// Whether it comes along when another site sends the browser here, by a link.
fn same_site(name: &str) -> SameSite {
    match name {
        OIDC => SameSite::Lax,
        _ => SameSite::Strict,
    }
}

/// A name as it is sent.
fn full_name(name: &str, is_tls: bool) -> String {
    match is_tls {
        true => format!("__Host-{name}"),
        false => name.to_owned(),
    }
}

/// A cookie's value; None where it is missing, empty, or given twice: two values mean that somebody else set
/// one of them.
pub(crate) fn read(headers: &HeaderMap, name: &str, is_tls: bool) -> Option<String> {
    let name = full_name(name, is_tls);
    let all = headers.get_all(header::COOKIE).iter();
    let all = all.filter_map(|value| value.to_str().ok());
    let cookies = all.flat_map(Cookie::split_parse).flatten();
    let named = cookies.filter(|cookie| cookie.name() == name);
    let mut values = named.map(|cookie| cookie.value().to_owned());
    let first = values.next().filter(|value| !value.is_empty());
    first.filter(|_| values.next().is_none())
}

/// The header that sets a cookie for a time, or until the browser closes.
pub(crate) fn set(
    name: &str,
    value: &Secret,
    lasts: Option<Duration>,
    is_tls: bool,
) -> Option<HeaderValue> {
    let cookie = Cookie::build((full_name(name, is_tls), value.expose().to_owned()));
    let cookie = cookie.path("/").http_only(true).secure(is_tls);
    let mut cookie = cookie.same_site(same_site(name)).build();
    if let Some(lasts) = lasts {
        cookie.set_max_age(Some(lasts.try_into().ok()?));
    }
    let mut value = HeaderValue::try_from(cookie.to_string()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        [(header::COOKIE, value.parse().unwrap())]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_cookie_is_read_by_its_whole_name_and_once() {
        let both = headers("a=1; monitor=x; __Host-monitor=y");
        assert_eq!(read(&both, BROWSER, false).as_deref(), Some("x"));
        assert_eq!(read(&both, BROWSER, true).as_deref(), Some("y"));
        assert_eq!(read(&headers("monitor=x; monitor=y"), BROWSER, false), None);
        assert_eq!(read(&headers("monitor="), BROWSER, false), None);
    }

    #[test]
    fn over_tls_it_is_bound_to_the_host() {
        let value = Secret::new("v");
        let text = |is_tls| {
            let header = set(BROWSER, &value, None, is_tls).unwrap();
            header.to_str().unwrap().to_owned()
        };
        assert_eq!(text(false), "monitor=v; HttpOnly; SameSite=Strict; Path=/");
        assert_eq!(
            text(true),
            "__Host-monitor=v; HttpOnly; SameSite=Strict; Secure; Path=/"
        );
    }
}

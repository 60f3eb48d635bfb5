//! Cookies of the UI: reading them out of a request, writing them into a response. Over TLS their
//! names begin with `__Host-`, which ties them to this host and to TLS; in clear text (loopback) a
//! browser would not take such a name.

use axum::http::{HeaderMap, HeaderValue, header};
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

/// A sign-in that is under way at another server.
pub(crate) const OIDC: &str = "monitor_oidc";

/// Whether it comes along when another site sends the browser here, by a link.
fn same_site(name: &str) -> &'static str {
    match name {
        OIDC => "Lax",
        _ => "Strict",
    }
}

/// A name as it stands on the wire.
fn full_name(name: &str, is_tls: bool) -> String {
    match is_tls {
        true => format!("__Host-{name}"),
        false => name.to_owned(),
    }
}

/// A cookie's value; None where it is missing, empty, or given twice.
pub(crate) fn read<'h>(headers: &'h HeaderMap, name: &str, is_tls: bool) -> Option<&'h str> {
    let name = full_name(name, is_tls);
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    let mut values = pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .filter_map(|(given, value)| (given == name).then_some(value));
    let first = values.next().filter(|value| !value.is_empty());
    first.filter(|_| values.next().is_none())
}

/// The header that sets a cookie for so long, or until the browser closes.
pub(crate) fn set(
    name: &str,
    value: &Secret,
    lasts: Option<Duration>,
    is_tls: bool,
) -> Option<HeaderValue> {
    let site = same_site(name);
    let (name, secure) = (
        full_name(name, is_tls),
        if is_tls { "; Secure" } else { "" },
    );
    let lasts = lasts
        .map(|lasts| format!("; Max-Age={}", lasts.as_secs()))
        .unwrap_or_default();
    let text = format!(
        "{name}={}; Path=/; HttpOnly; SameSite={site}{secure}{lasts}",
        value.expose()
    );
    let mut value = HeaderValue::from_str(&text).ok()?;
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
        assert_eq!(read(&both, BROWSER, false), Some("x"));
        assert_eq!(read(&both, BROWSER, true), Some("y"));
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
        assert_eq!(text(false), "monitor=v; Path=/; HttpOnly; SameSite=Strict");
        assert_eq!(
            text(true),
            "__Host-monitor=v; Path=/; HttpOnly; SameSite=Strict; Secure"
        );
    }
}

//! Where clients reach the gateway: the configured address, else that of the gateway in this process, else
//! a guess from the host in the browser's request.

use crate::analysis::Services;
use crate::analysis::ui::request::view::View;

/// The gateway's port where nothing else is known.
const USUAL_PORT: u16 = 4100;

/// The address, and whether it is more than a guess.
pub(super) fn find(services: &Services, view: &View) -> (String, bool) {
    if let Some(url) = &services.settings.gateway_url {
        return (without_usual_port(&url.to_string()), true);
    }
    let asked = host(&view.origin);
    match services.ingest.gateways.local() {
        None => (format!("http://{asked}:{USUAL_PORT}"), false),
        Some(gateway) => {
            let scheme = if gateway.tls { "https" } else { "http" };
            let host = gateway.host.as_deref().map(bracketed);
            let host = host.unwrap_or_else(|| asked.to_owned());
            (format!("{scheme}://{host}:{}", gateway.port), true)
        }
    }
}

/// The host in `scheme://host:port`, an IPv6 address in its brackets.
fn host(origin: &str) -> &str {
    let rest = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    match rest.find(']') {
        Some(end) => &rest[..=end],
        None => rest.split(':').next().unwrap_or(rest),
    }
}

fn bracketed(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}

fn without_usual_port(url: &str) -> String {
    let usual = match url.starts_with("https") {
        true => ":443",
        false => ":80",
    };
    let after_host = url.rfind(usual).filter(|at| {
        let rest = &url[at + usual.len()..];
        rest.is_empty() || rest.starts_with('/')
    });
    match after_host {
        Some(at) => format!("{}{}", &url[..at], &url[at + usual.len()..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_stands_before_the_port() {
        for (origin, expected) in [
            ("http://127.0.0.1:4200", "127.0.0.1"),
            ("https://monitor.example", "monitor.example"),
            ("http://[::1]:4200", "[::1]"),
        ] {
            assert_eq!(host(origin), expected);
        }
        assert_eq!(bracketed("::1"), "[::1]");
    }

    #[test]
    fn a_usual_port_is_left_out() {
        for (url, expected) in [
            ("https://gateway.example:443", "https://gateway.example"),
            (
                "https://gateway.example:443/ai",
                "https://gateway.example/ai",
            ),
            ("http://gateway.example:80", "http://gateway.example"),
            ("http://gateway.example:8080", "http://gateway.example:8080"),
        ] {
            assert_eq!(without_usual_port(url), expected);
        }
    }
}

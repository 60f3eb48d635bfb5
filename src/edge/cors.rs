//! Cross-origin resource sharing (Fetch standard): which pages of other websites may read an answer. The listed
//! origins get it by their name, never as `*`, and never together with a browser's cookies.

use crate::config::CorsSettings;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderName, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

/// The longest list of headers that a preflight may ask for.
const LONGEST_LIST: usize = 4 << 10;
/// How long a browser may keep the answer to a preflight: a change of the list is in force after that.
const MAX_AGE: &str = "600";
/// What a page may read of an answer's head: all of it, that of a model server included. No credentials of the browser
/// go along, so `*` counts (Fetch standard, 3.3.5).
const EXPOSED: &str = "*";
/// Headers of an upstream's answer that give way to those of the settings.
pub(crate) const OWN: [HeaderName; 3] = [
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_EXPOSE_HEADERS,
];

/// The website of the page that made a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No website may call, so answers say nothing of it.
    #[default]
    Off,
    /// None, or one that is not listed.
    Unlisted,
    /// One that may call.
    Listed(HeaderValue),
}

impl Origin {
    /// The origin of a request. One that names several counts as unlisted.
    pub(crate) fn of(settings: &CorsSettings, headers: &HeaderMap) -> Self {
        if settings.origins.is_empty() {
            return Self::Off;
        }
        let mut named = headers.get_all(ORIGIN).iter();
        match (named.next(), named.next()) {
            (Some(origin), None) if is_listed(settings, origin) => Self::Listed(origin.clone()),
            _ => Self::Unlisted,
        }
    }

    /// Whether this is a browser's question whether a page may call, and it may. The question comes without the
    /// access key, which only the call has.
    pub(crate) fn may_ask(&self, method: &Method, headers: &HeaderMap) -> bool {
        matches!(self, Self::Listed(_))
            && *method == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// The headers that an answer has besides its own. Caches must keep the answers for each origin apart.
    pub(crate) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let vary = (VARY, HeaderValue::from_static("origin"));
        match self {
            Self::Off => Vec::new(),
            Self::Unlisted => vec![vary],
            Self::Listed(origin) => vec![
                vary,
                (ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
                (
                    ACCESS_CONTROL_EXPOSE_HEADERS,
                    HeaderValue::from_static(EXPOSED),
                ),
            ],
        }
    }
}

/// What the answer to a preflight allows: these methods, and the headers it asks for, since a call may have any.
pub(crate) fn allowed(
    methods: &'static str,
    headers: &HeaderMap,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut allowed = vec![
        (
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static(methods),
        ),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE)),
    ];
    let asked = headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
    if let Some(asked) = asked.filter(|asked| is_list_of_names(asked.as_bytes())) {
        allowed.push((ACCESS_CONTROL_ALLOW_HEADERS, asked.clone()));
    }
    allowed
}

fn is_listed(settings: &CorsSettings, origin: &HeaderValue) -> bool {
    settings
        .origins
        .iter()
        .any(|listed| listed.as_bytes() == origin.as_bytes())
}

fn is_list_of_names(list: &[u8]) -> bool {
    let is_name = |name: &[u8]| HeaderName::from_bytes(name.trim_ascii()).is_ok();
    list.len() <= LONGEST_LIST && list.split(|byte| *byte == b',').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> CorsSettings {
        CorsSettings {
            origins: vec!["https://app.example".to_owned()],
        }
    }

    fn from(origins: &[&'static str]) -> HeaderMap {
        let values = origins.iter().copied().map(HeaderValue::from_static);
        values
            .map(|value| (ORIGIN, value))
            .fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            })
    }

    #[test]
    fn only_an_origin_that_is_listed_to_the_letter_may_call() {
        let listed = Origin::Listed(HeaderValue::from_static("https://app.example"));
        assert_eq!(
            Origin::of(&settings(), &from(&["https://app.example"])),
            listed
        );
        for other in [
            &[][..],
            &["null"],
            &["http://app.example"],
            &["https://app.example:8443"],
            &["https://app.example.evil.example"],
            &["https://evil.example", "https://app.example"],
            &["https://app.example https://evil.example"],
        ] {
            assert_eq!(
                Origin::of(&settings(), &from(other)),
                Origin::Unlisted,
                "{other:?}"
            );
        }
        let off = Origin::of(&CorsSettings::default(), &from(&["https://app.example"]));
        assert_eq!(off, Origin::Off);
        assert!(off.headers().is_empty());
    }

    #[test]
    fn a_preflight_gets_back_the_headers_it_names_if_they_are_names() {
        let asking = |list: &str| {
            let mut headers = HeaderMap::new();
            if let Ok(list) = HeaderValue::from_str(list) {
                headers.insert(ACCESS_CONTROL_REQUEST_HEADERS, list);
            }
            let allowed = allowed("POST", &headers);
            let found = allowed
                .into_iter()
                .find(|(name, _)| name == ACCESS_CONTROL_ALLOW_HEADERS);
            found.map(|(_, value)| value)
        };
        let names = "authorization, x-monitor-api-key,x-stainless-os";
        assert_eq!(asking(names), HeaderValue::from_str(names).ok());
        assert_eq!(asking("a b"), None);
        assert_eq!(asking(&"a,".repeat(4_000)), None);
    }
}

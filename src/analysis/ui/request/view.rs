//! How a page is shown, to somebody signed in or not: language, theme, and the browser's cookie value,
//! to which its forms are bound.

use super::connection::{Peer, PublicUrl};
use crate::analysis::ui::paths::page_of_form;
use crate::analysis::ui::phrases::{ADMINISTRATION_EN, ADMINISTRATION_RU, AdministrationPhrases};
use crate::analysis::ui::phrases::{ALERTS_EN, ALERTS_RU, AlertPhrases};
use crate::analysis::ui::phrases::{COSTS_EN, COSTS_RU, CostPhrases};
use crate::analysis::ui::phrases::{EN, Phrases, RECORDS_EN, RECORDS_RU, RU, RecordPhrases};
use crate::analysis::ui::phrases::{FINDINGS_EN, FINDINGS_RU, FindingPhrases};
use crate::analysis::ui::phrases::{GUARDRAILS_EN, GUARDRAILS_RU, GuardrailPhrases};
use crate::analysis::ui::phrases::{KEYS_EN, KEYS_RU, KeyPhrases};
use crate::analysis::ui::phrases::{OVERVIEW_EN, OVERVIEW_RU, OverviewPhrases};
use crate::analysis::ui::phrases::{PEOPLE_EN, PEOPLE_RU, PeoplePhrases};
use crate::analysis::ui::phrases::{SIGN_INS_EN, SIGN_INS_RU, SignInPhrases};
use crate::analysis::ui::phrases::{TOKENS_EN, TOKENS_RU, TokenPhrases};
use crate::analysis::ui::phrases::{UNITS_EN, UNITS_RU, UnitPhrases};
use crate::analysis::ui::request::cookie;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use monitor_model::Secret;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use subtle::ConstantTimeEq;

/// A language of the UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Russian,
}

impl Language {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Russian => "ru",
        }
    }

    pub(crate) fn from_code(code: &str) -> Option<Self> {
        [Self::English, Self::Russian]
            .into_iter()
            .find(|language| language.code() == code)
    }

    /// The first of the browser's languages that there is, in its order; weights are not looked at,
    /// since browsers send their list sorted.
    fn wanted(headers: &HeaderMap) -> Self {
        let list = headers.get(header::ACCEPT_LANGUAGE);
        let list = list
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let codes = list
            .split(',')
            .map(|item| item.trim().get(..2).unwrap_or_default());
        codes
            .into_iter()
            .find_map(|code| Self::from_code(&code.to_lowercase()))
            .unwrap_or(Self::English)
    }
}

/// The colors; `None` in a view follows the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Light, Self::Dark]
            .into_iter()
            .find(|theme| theme.word() == word)
    }
}

/// The zone of times; `None` in a view is that of the browser, if its script runs, and else UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Local,
    Utc,
}

impl Clock {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Utc => "utc",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Local, Self::Utc]
            .into_iter()
            .find(|clock| clock.word() == word)
    }
}

/// How a page is shown.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) language: Language,
    pub(crate) theme: Option<Theme>,
    pub(crate) clock: Option<Clock>,
    pub(crate) t: &'static Phrases,
    pub(crate) peer: Peer,
    /// Path and query of this page; after a form was sent, those of the page it belongs to.
    pub(crate) here: String,
    /// `https://host:port`, as configured, else as the browser wrote it.
    pub(crate) origin: String,
    /// The value of the browser's cookie, signed in or not.
    pub(crate) browser: Option<Secret>,
    /// What the browser calls itself.
    pub(crate) agent: Option<HeaderValue>,
}

impl View {
    pub(crate) fn read(parts: &Parts) -> Self {
        let mut peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
        let public = parts.extensions.get::<PublicUrl>();
        let public = public.and_then(|PublicUrl(url)| url.as_deref());
        peer.is_tls |= public.is_some_and(|url| url.starts_with("https:"));
        let cookie = |name| cookie::read(&parts.headers, name, peer.is_tls);
        let language = cookie(cookie::LANGUAGE)
            .as_deref()
            .and_then(Language::from_code)
            .unwrap_or_else(|| Language::wanted(&parts.headers));
        let uri = parts.extensions.get::<axum::extract::OriginalUri>();
        let uri = uri.map_or(&parts.uri, |original| &original.0);
        let browser = cookie(cookie::BROWSER).or_else(|| cookie(cookie::VISITOR));
        Self {
            language,
            theme: cookie(cookie::THEME).as_deref().and_then(Theme::from_word),
            clock: cookie(cookie::CLOCK).as_deref().and_then(Clock::from_word),
            t: match language {
                Language::English => &EN,
                Language::Russian => &RU,
            },
            peer,
            here: match parts.method {
                Method::GET => uri.path_and_query().map_or("/ui", |path| path.as_str()),
                _ => page_of_form(uri.path()),
            }
            .to_owned(),
            origin: public.map_or_else(|| origin(&parts.headers, peer), str::to_owned),
            browser: browser.map(Secret::new),
            agent: parts.headers.get(header::USER_AGENT).cloned(),
        }
    }

    /// Phrases of the pages of records.
    pub(crate) fn r(&self) -> &'static RecordPhrases {
        match self.language {
            Language::English => &RECORDS_EN,
            Language::Russian => &RECORDS_RU,
        }
    }

    /// Phrases of the overview, the status page, the audit log and the first steps.
    pub(crate) fn o(&self) -> &'static OverviewPhrases {
        match self.language {
            Language::English => &OVERVIEW_EN,
            Language::Russian => &OVERVIEW_RU,
        }
    }

    /// Phrases of the pages of access tokens.
    pub(crate) fn k(&self) -> &'static TokenPhrases {
        match self.language {
            Language::English => &TOKENS_EN,
            Language::Russian => &TOKENS_RU,
        }
    }

    /// Phrases of second factors and of the list of sign-ins.
    pub(crate) fn s(&self) -> &'static SignInPhrases {
        match self.language {
            Language::English => &SIGN_INS_EN,
            Language::Russian => &SIGN_INS_RU,
        }
    }

    /// Phrases of findings.
    pub(crate) fn f(&self) -> &'static FindingPhrases {
        match self.language {
            Language::English => &FINDINGS_EN,
            Language::Russian => &FINDINGS_RU,
        }
    }

    /// Phrases of what administrators do beside editing.
    pub(crate) fn a(&self) -> &'static AdministrationPhrases {
        match self.language {
            Language::English => &ADMINISTRATION_EN,
            Language::Russian => &ADMINISTRATION_RU,
        }
    }

    /// Phrases of the page of costs.
    pub(crate) fn c(&self) -> &'static CostPhrases {
        match self.language {
            Language::English => &COSTS_EN,
            Language::Russian => &COSTS_RU,
        }
    }

    /// Phrases of the page of alerts.
    pub(crate) fn alerts(&self) -> &'static AlertPhrases {
        match self.language {
            Language::English => &ALERTS_EN,
            Language::Russian => &ALERTS_RU,
        }
    }

    /// Phrases of the pages of end users.
    pub(crate) fn p(&self) -> &'static PeoplePhrases {
        match self.language {
            Language::English => &PEOPLE_EN,
            Language::Russian => &PEOPLE_RU,
        }
    }

    /// Phrases of the keyboard and of the zone of times.
    pub(crate) fn keys(&self) -> &'static KeyPhrases {
        match self.language {
            Language::English => &KEYS_EN,
            Language::Russian => &KEYS_RU,
        }
    }

    /// Phrases about guardrail categories.
    pub(crate) fn g(&self) -> &'static GuardrailPhrases {
        match self.language {
            Language::English => &GUARDRAILS_EN,
            Language::Russian => &GUARDRAILS_RU,
        }
    }

    /// The units of numbers.
    pub(crate) fn u(&self) -> &'static UnitPhrases {
        match self.language {
            Language::English => &UNITS_EN,
            Language::Russian => &UNITS_RU,
        }
    }

    /// The token that this browser's forms carry; empty where it has no value yet.
    pub(crate) fn form_token(&self) -> String {
        self.browser.as_ref().map(form_token).unwrap_or_default()
    }

    /// Whether a form was made for this browser.
    pub(crate) fn is_own_form(&self, token: &str) -> bool {
        let own = self.form_token();
        !own.is_empty() && bool::from(own.as_bytes().ct_eq(token.as_bytes()))
    }

    /// The header that gives the browser a value until it closes, in the cookie of this name.
    pub(crate) fn set_browser(&self, name: &str, value: &Secret) -> Option<HeaderValue> {
        cookie::set(name, value, None, self.peer.is_tls)
    }
}

fn origin(headers: &HeaderMap, peer: Peer) -> String {
    let host = headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let scheme = if peer.is_tls { "https" } else { "http" };
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

/// A hash of the browser's value, which it does not reveal.
fn form_token(browser: &Secret) -> String {
    let mut hash = Sha256::new_with_prefix(b"form token\0");
    hash.update(browser.expose().as_bytes());
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

impl<S: Sync> FromRequestParts<S> for View {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::read(parts))
    }
}

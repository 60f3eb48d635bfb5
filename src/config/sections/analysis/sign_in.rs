//! The keys of signing in by an OpenID Connect provider (`sign_in.oidc`). Nothing is called here.

use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, Form};
use crate::config::values::url;
use monitor_model::Secret;
use std::net::IpAddr;

const SCOPES: &str = "openid email profile";
const WITHOUT_ISSUER: &str =
    "has no effect without a provider; set OIDC_ISSUER or sign_in.oidc.issuer";

/// An OpenID Connect provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSettings {
    /// Its URL, as in its tokens.
    pub issuer: String,
    /// The identifier of this service at the provider.
    pub client_id: String,
    /// None: a public client, guarded by PKCE alone.
    pub client_secret: Option<Secret>,
    /// The label of the button.
    pub label: Option<String>,
    /// The requested scopes, separated by spaces; they include `openid`.
    pub scopes: String,
    /// The claim with a person's groups; dots separate nested names.
    pub role_claim: Option<String>,
    /// Values of that claim and the roles they grant, the most powerful first.
    pub roles: Vec<(String, SignInRole)>,
    /// Role of people without any of them; None: only people with an account can sign in.
    pub default_role: Option<SignInRole>,
    /// Domains of verified e-mail addresses, in lower case; empty for any.
    pub allowed_domains: Vec<String>,
}

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInRole {
    /// Settings, accounts, keys and records.
    Administrator,
    /// Applications and tokens.
    Developer,
    /// Applications and records, read only.
    Analyst,
    /// The same without original texts and files.
    Reviewer,
}

const ROLES: &[(&str, SignInRole)] = &[
    ("administrator", SignInRole::Administrator),
    ("developer", SignInRole::Developer),
    ("analyst", SignInRole::Analyst),
    ("reviewer", SignInRole::Reviewer),
];

/// The provider, where one is named. `prefix` is that of the analysis server's keys.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> Option<OidcSettings> {
    let key = |name: &str| format!("{prefix}sign_in.oidc.{name}");
    let issuer = r.read(&key("issuer"), &secure_url());
    let client_id = r.read(&key("client_id"), &units::text());
    let client_secret = r.read(&key("client_secret"), &units::password());
    let label = r.read(&key("label"), &units::text());
    let scopes = r.read(&key("scopes"), &scopes());
    let role_claim = r.read(&key("role_claim"), &units::text());
    let roles = roles(r, &key("roles."));
    let default_role = r.read(&key("default_role"), &units::word(ROLES));
    let allowed_domains = r.read(&key("allowed_domains"), &units::text());
    let text =
        "has no effect without the claim that holds these values; set sign_in.oidc.role_claim";
    let is_alone = role_claim.is_none() && !roles.is_empty();
    r.refuse_if(&key("roles.administrator"), is_alone, text);
    let Some(issuer) = issuer else {
        if !r.has_problem(&key("issuer")) {
            r.refuse_if(&key("client_id"), client_id.is_some(), WITHOUT_ISSUER);
            let name = key("client_secret");
            r.refuse_if(&name, client_secret.is_some(), WITHOUT_ISSUER);
        }
        return None;
    };
    let missing = "is not set, but a provider is; set OIDC_CLIENT_ID or sign_in.oidc.client_id";
    r.refuse_if(&key("client_id"), client_id.is_none(), missing);
    Some(OidcSettings {
        issuer,
        client_id: client_id.unwrap_or_default(),
        client_secret,
        label,
        scopes: scopes.unwrap_or_else(|| SCOPES.to_owned()),
        role_claim,
        roles,
        default_role,
        allowed_domains: words(&allowed_domains.unwrap_or_default().to_lowercase()),
    })
}

fn roles(r: &mut Reader<'_>, prefix: &str) -> Vec<(String, SignInRole)> {
    let mut roles = Vec::new();
    for (name, role) in ROLES {
        let given = r.read(&format!("{prefix}{name}"), &units::text());
        let given = words(&given.unwrap_or_default());
        roles.extend(given.into_iter().map(|word| (word, *role)));
    }
    roles
}

/// The words of a list with commas.
fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The address of this server's pages as browsers reach it, without a slash at its end.
pub(crate) fn public_url() -> Form<String> {
    Form::new("https://host[:port]", |text| {
        let text = secure(text)?.trim_end_matches('/');
        let path = text.split_once("://").map_or("", |(_, rest)| rest);
        match path.contains('/') {
            true => Err("has a path, but the web UI is served at /ui of a host".to_owned()),
            false => Ok(text.to_owned()),
        }
    })
    .text_only()
}

/// An address over TLS; in clear text on this machine alone, where tests and proxies are.
fn secure_url() -> Form<String> {
    const ALLOWED: &str = "https://host[:port][/prefix], without user, query and fragment";
    Form::new(ALLOWED, |text| secure(text).map(str::to_owned)).text_only()
}

fn secure(text: &str) -> Result<&str, String> {
    let url = url::base_url().parse(text);
    let url = url.map_err(|_| "is not a valid URL".to_owned())?;
    let is_local = match url.host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => url.host == "localhost",
    };
    match url.tls || is_local {
        true => Ok(text),
        false => Err("sends secrets in clear text".to_owned()),
    }
}

fn scopes() -> Form<String> {
    Form::new("words separated by spaces, including openid", |text| {
        let has_openid = text.split_whitespace().any(|word| word == "openid");
        match has_openid && text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
            true => Ok(text.to_owned()),
            false => Err("requests no identity".to_owned()),
        }
    })
    .text_only()
}

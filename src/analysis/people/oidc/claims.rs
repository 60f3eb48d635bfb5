//! The claims of an ID token (OpenID Connect Core 3.1.3.7), and the person they describe.

use super::OidcError;
use crate::config::{OidcSettings, SignInRole};
use jsonwebtoken::Validation;
use monitor_store::Identity;
use serde_json::Value;
use subtle::ConstantTimeEq;

/// Allowed difference between the provider's clock and ours.
const LEEWAY_S: u64 = 60;
/// The longest subject, in bytes (Core 2).
const LONGEST_SUBJECT: usize = 255;

/// A person whom the provider has authenticated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Person {
    /// The provider's issuer and subject.
    pub(crate) identity: Identity,
    /// The e-mail address, if the provider has verified it; in lower case.
    pub(crate) email: Option<String>,
    /// The provider's user name.
    pub(crate) name: Option<String>,
    /// The role that the person's groups map to.
    pub(crate) role: Option<SignInRole>,
}

impl Person {
    /// Whether the address belongs to one of these domains; true where there are none.
    pub(crate) fn is_of(&self, allowed: &[String]) -> bool {
        let address = self.email.as_deref();
        let domain = address.and_then(|address| address.rsplit_once('@'));
        allowed.is_empty()
            || domain.is_some_and(|(_, domain)| allowed.iter().any(|own| own == domain))
    }
}

/// The checks that `jsonwebtoken` does: issuer, audience, expiry and start.
pub(super) fn validation(settings: &OidcSettings) -> Validation {
    let mut validation = Validation::default();
    validation.leeway = LEEWAY_S;
    validation.validate_nbf = true;
    validation.set_issuer(&[&settings.issuer]);
    validation.set_audience(&[&settings.client_id]);
    validation.set_required_spec_claims(&["exp", "iss", "aud"]);
    validation
}

/// The person that the claims of a verified token are about.
pub(super) fn person(
    claims: &Value,
    settings: &OidcSettings,
    nonce: &str,
    now_s: i64,
) -> Result<Person, OidcError> {
    check(claims, settings, nonce, now_s)?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let subject = text("sub").filter(|sub| (1..=LONGEST_SUBJECT).contains(&sub.len()));
    let subject = subject.ok_or(OidcError::Token("has no usable subject"))?;
    let is_verified = match claims.get("email_verified") {
        Some(Value::Bool(is_verified)) => *is_verified,
        Some(Value::String(word)) => word == "true",
        _ => false,
    };
    let email = text("email").filter(|_| is_verified).map(str::to_lowercase);
    Ok(Person {
        identity: Identity {
            issuer: settings.issuer.clone(),
            subject: subject.to_owned(),
        },
        email,
        name: text("preferred_username").map(str::to_owned),
        role: role(claims, settings),
    })
}

/// What OpenID Connect requires beyond a JWT: the authorized party, the time of issue and the nonce.
fn check(
    claims: &Value,
    settings: &OidcSettings,
    nonce: &str,
    now_s: i64,
) -> Result<(), OidcError> {
    let azp = claims.get("azp");
    let has_others = matches!(claims.get("aud"), Some(Value::Array(all)) if all.len() > 1);
    let is_ours = match azp {
        Some(party) => *party == settings.client_id,
        None => !has_others,
    };
    if !is_ours {
        return Err(OidcError::Token("is for another audience"));
    }
    let issued = claims.get("iat").and_then(Value::as_f64);
    if issued.is_none_or(|issued| issued - LEEWAY_S as f64 > now_s as f64) {
        return Err(OidcError::Token("is not valid yet"));
    }
    let given = claims.get("nonce").and_then(Value::as_str);
    let given = given.unwrap_or_default();
    match bool::from(given.as_bytes().ct_eq(nonce.as_bytes())) {
        true => Ok(()),
        false => Err(OidcError::Token("belongs to another sign-in")),
    }
}

/// The most powerful role that a value of the claim maps to.
fn role(claims: &Value, settings: &OidcSettings) -> Option<SignInRole> {
    let path = settings.role_claim.as_deref()?;
    // The name of a claim may contain dots itself, as a URL does.
    let whole = claims.get(path);
    let found = whole.or_else(|| path.split('.').try_fold(claims, |at, name| at.get(name)));
    let words: Vec<&str> = match found? {
        Value::String(words) => words.split_whitespace().chain([words.as_str()]).collect(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut known = settings.roles.iter();
    let known = known.find(|(word, _)| words.contains(&word.as_str()));
    known.map(|(_, role)| *role)
}

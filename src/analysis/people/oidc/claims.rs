//! The claims of an ID token (OpenID Connect Core 3.1.3.7), and the person they describe.

use super::OidcError;
use crate::config::{OidcSettings, SignInRole};
use monitor_store::Identity;
use serde_json::Value;
use subtle::ConstantTimeEq;

/// Allowed difference between the provider's clock and ours.
const LEEWAY_S: i64 = 60;
/// The longest subject, in bytes (Core 2).
const LONGEST_SUBJECT: usize = 255;
/// The claim whose string is a list.
const SCOPE: &str = "scope";

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
    // A boolean in Core 5.1: a provider that sends a word may mean anything by it.
    let is_verified = claims.get("email_verified") == Some(&Value::Bool(true));
    let email = text("email").filter(|email| is_verified && is_plain_address(email));
    // Other letters stay: U+212A in lower case is the k of another person's address.
    let email = email.map(str::to_ascii_lowercase);
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

/// The checks of Core 3.1.3.7. `jsonwebtoken` would be more lenient: it accepts a list that contains the
/// issuer, rounds times, and accepts a token in the second in which it expires.
fn check(
    claims: &Value,
    settings: &OidcSettings,
    nonce: &str,
    now_s: i64,
) -> Result<(), OidcError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let time = |name: &str| claims.get(name).and_then(Value::as_f64);
    let wrong = |what| Err(OidcError::Token(what));
    if text("iss") != Some(settings.issuer.as_str()) {
        return wrong("is of another issuer");
    }
    if !is_for(claims, &settings.client_id) {
        return wrong("is for another audience");
    }
    let (now, leeway) = (now_s as f64, LEEWAY_S as f64);
    if time("exp").is_none_or(|ends| ends + leeway <= now) {
        return wrong("is expired");
    }
    let is_early = |name| time(name).is_some_and(|begins| begins - leeway > now);
    if time("iat").is_none() || is_early("iat") || is_early("nbf") {
        return wrong("is not valid yet");
    }
    let given = text("nonce").unwrap_or_default();
    match bool::from(given.as_bytes().ct_eq(nonce.as_bytes())) {
        true => Ok(()),
        false => wrong("belongs to another sign-in"),
    }
}

/// Whether the client is among the audience; among several it must be the party that the token was made for.
fn is_for(claims: &Value, client: &str) -> bool {
    let azp = claims.get("azp");
    if azp.is_some_and(|party| party != client) {
        return false;
    }
    match claims.get("aud") {
        Some(Value::String(one)) => one == client,
        Some(Value::Array(all)) => {
            all.iter().any(|one| one == client) && (all.len() == 1 || azp.is_some())
        }
        _ => false,
    }
}

/// Whether an address can be read in one way only. Quoted names and lists could show another domain than the last one.
fn is_plain_address(email: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "@,;:<>()[]\\\"".contains(c);
    let parts = email.split_once('@');
    parts.is_some_and(|(name, domain)| {
        !name.is_empty() && !domain.is_empty() && !name.contains(is_odd) && !domain.contains(is_odd)
    })
}

/// The most powerful role that a value of the claim maps to.
fn role(claims: &Value, settings: &OidcSettings) -> Option<SignInRole> {
    let path = settings.role_claim.as_deref()?;
    // The name of a claim may contain dots itself, as a URL does.
    let whole = claims.get(path);
    let found = whole.or_else(|| path.split('.').try_fold(claims, |at, name| at.get(name)));
    let words: Vec<&str> = match found? {
        // The one claim that is a list by its definition (RFC 8693 4.2); the name of a group may have blanks.
        Value::String(scopes) if path == SCOPE => scopes.split(' ').collect(),
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut known = settings.roles.iter();
    let known = known.find(|(word, _)| words.contains(&word.as_str()));
    known.map(|(_, role)| *role)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW_S: i64 = 1_800_000_000;

    fn settings() -> OidcSettings {
        OidcSettings {
            issuer: "https://id.example".to_owned(),
            client_id: "monitor".to_owned(),
            client_secret: None,
            label: None,
            scopes: "openid".to_owned(),
            role_claim: None,
            roles: Vec::new(),
            default_role: None,
            allowed_domains: Vec::new(),
        }
    }

    /// Claims that are accepted, with these changes; null takes a claim away.
    fn checked(changes: Value) -> Result<(), OidcError> {
        let mut claims = json!({
            "iss": "https://id.example", "aud": "monitor", "sub": "x", "nonce": "n",
            "iat": NOW_S, "exp": NOW_S + 300,
        });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
                value => claims[name] = value.clone(),
            }
        }
        person(&claims, &settings(), "n", NOW_S).map(drop)
    }

    #[test]
    fn claims_are_accepted_up_to_their_limits() {
        for changes in [
            json!({}),
            json!({"exp": NOW_S - 59}),
            json!({"exp": NOW_S as f64 - 59.5}),
            json!({"iat": NOW_S + 60, "nbf": NOW_S + 60}),
            json!({"aud": ["monitor"]}),
            json!({"aud": ["other", "monitor"], "azp": "monitor"}),
        ] {
            assert_eq!(checked(changes.clone()), Ok(()), "{changes}");
        }
    }

    #[test]
    fn an_address_that_can_be_read_in_two_ways_is_none() {
        for (email, expected) in [
            ("Ann@corp.example", true),
            ("анна@corp.example", true),
            ("x@evil.example@corp.example", false),
            ("x@evil.example\0@corp.example", false),
            ("x@evil.example\n@corp.example", false),
            ("x@evil.example,y@corp.example", false),
            ("\"x@evil.example\"@corp.example", false),
            ("<x>@corp.example", false),
            ("@corp.example", false),
            ("ann", false),
        ] {
            let own = ["corp.example".to_owned()];
            assert_eq!(with_email(email).is_of(&own), expected, "{email:?}");
        }
    }

    #[test]
    fn no_letter_of_an_address_becomes_that_of_another_one() {
        let email = |email: &str| with_email(email).email.unwrap();
        assert_eq!(email("KATE@Corp.example"), "kate@corp.example");
        assert_ne!(email("\u{212a}ate@corp.example"), "kate@corp.example");
    }

    /// Whoever has this verified address.
    fn with_email(email: &str) -> Person {
        let claims = json!({
            "iss": "https://id.example", "aud": "monitor", "sub": "x", "nonce": "n",
            "iat": NOW_S, "exp": NOW_S + 300, "email": email, "email_verified": true,
        });
        person(&claims, &settings(), "n", NOW_S).unwrap()
    }

    #[test]
    fn a_claim_that_is_missing_of_another_type_or_beyond_its_limit_is_refused() {
        for (problem, changes) in [
            ("is of another issuer", json!({"iss": null})),
            (
                "is of another issuer",
                json!({"iss": ["https://id.example"]}),
            ),
            (
                "is of another issuer",
                json!({"iss": "https://id.example/"}),
            ),
            ("is for another audience", json!({"aud": null})),
            ("is for another audience", json!({"aud": "Monitor"})),
            (
                "is for another audience",
                json!({"aud": ["other", "monitor"]}),
            ),
            ("is for another audience", json!({"azp": "other"})),
            ("is for another audience", json!({"azp": ["monitor"]})),
            ("is expired", json!({"exp": null})),
            ("is expired", json!({"exp": (NOW_S + 300).to_string()})),
            ("is expired", json!({"exp": NOW_S - 60})),
            ("is expired", json!({"exp": NOW_S as f64 - 60.4})),
            ("is not valid yet", json!({"iat": null})),
            ("is not valid yet", json!({"iat": NOW_S + 61})),
            ("is not valid yet", json!({"nbf": NOW_S + 61})),
            ("is not valid yet", json!({"nbf": NOW_S as f64 + 60.4})),
            ("belongs to another sign-in", json!({"nonce": null})),
            ("belongs to another sign-in", json!({"nonce": "m"})),
            ("has no usable subject", json!({"sub": ""})),
        ] {
            let refused = checked(changes.clone());
            assert_eq!(refused, Err(OidcError::Token(problem)), "{changes}");
        }
    }
}

//! The keys of an identity provider (RFC 7517) and the verification of a token by them (RFC 7515), with
//! `jsonwebtoken`. This file decides which of the keys a token was signed by, and refuses critical headers.

use super::OidcError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::Value;

/// Keys of one provider that are used.
const MOST_KEYS: usize = 64;

/// A key that verifies signatures.
pub(super) struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// The header of a token. `jsonwebtoken` ignores `crit`, so it is read here.
#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
    /// Extensions that have to be understood (RFC 7515 4.1.11): none is.
    crit: Option<Value>,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenProblem {
    /// It is signed by a key that is not known: the provider may have a new one.
    UnknownKey,
    /// Nothing that a new key would change.
    Wrong(&'static str),
}

impl From<TokenProblem> for OidcError {
    fn from(problem: TokenProblem) -> Self {
        Self::Token(match problem {
            TokenProblem::UnknownKey => "is signed by a key that the provider does not publish",
            TokenProblem::Wrong(what) => what,
        })
    }
}

/// The usable keys of a key set; those for other purposes or algorithms are left out.
pub(super) fn read(set: &Value) -> Vec<Key> {
    let keys = set.get("keys").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().take(MOST_KEYS);
    keys.filter_map(key).collect()
}

fn key(value: &Value) -> Option<Key> {
    let jwk = Jwk::deserialize(value).ok()?;
    let purpose = jwk.common.public_key_use.as_ref();
    if purpose.is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    let possible: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => &[Algorithm::RS256, Algorithm::PS256],
        AlgorithmParameters::EllipticCurve(point) if point.curve == EllipticCurve::P256 => {
            &[Algorithm::ES256]
        }
        _ => return None,
    };
    let own = jwk.common.key_algorithm;
    let allowed = |algorithm: &Algorithm| own.is_none_or(|own| is_same(own, *algorithm));
    Some(Key {
        algorithms: possible.iter().copied().filter(allowed).collect(),
        key: DecodingKey::from_jwk(&jwk).ok()?,
        id: jwk.common.key_id,
    })
}

fn is_same(own: KeyAlgorithm, algorithm: Algorithm) -> bool {
    matches!(
        (own, algorithm),
        (KeyAlgorithm::RS256, Algorithm::RS256)
            | (KeyAlgorithm::PS256, Algorithm::PS256)
            | (KeyAlgorithm::ES256, Algorithm::ES256)
    )
}

/// The claims of a token that is signed by one of the keys. What they say is checked by `claims`.
pub(super) fn verified(token: &str, keys: &[Key]) -> Result<Value, TokenProblem> {
    let head = head(token).ok_or(MALFORMED)?;
    let algorithm = algorithm(&head)?;
    let key = chosen(&head, algorithm, keys)?;
    match decode::<Value>(token, &key.key, &signature_only(algorithm)) {
        Ok(token) => Ok(token.claims),
        Err(error) => Err(match error.kind() {
            ErrorKind::InvalidSignature => {
                TokenProblem::Wrong("has a signature that is not the provider's")
            }
            _ => MALFORMED,
        }),
    }
}

fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

const MALFORMED: TokenProblem = TokenProblem::Wrong("is not a signed token");

fn head(token: &str) -> Option<Head> {
    let (head, _) = token.split_once('.')?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(head).ok()?).ok()
}

/// The algorithm, if it is allowed. A header with critical extensions is refused.
fn algorithm(head: &Head) -> Result<Algorithm, TokenProblem> {
    let algorithm = match head.alg.as_str() {
        "RS256" => Algorithm::RS256,
        "PS256" => Algorithm::PS256,
        "ES256" => Algorithm::ES256,
        _ => {
            return Err(TokenProblem::Wrong(
                "is not signed by RS256, PS256 or ES256",
            ));
        }
    };
    match head.crit {
        None => Ok(algorithm),
        Some(_) => Err(TokenProblem::Wrong(
            "has critical headers that are not supported",
        )),
    }
}

/// The one key that the header means. The key decides whether it may be used with the algorithm.
fn chosen<'k>(head: &Head, algorithm: Algorithm, keys: &'k [Key]) -> Result<&'k Key, TokenProblem> {
    let mut fitting = keys.iter().filter(|key| {
        key.algorithms.contains(&algorithm) && (head.kid.is_none() || key.id == head.kid)
    });
    match (fitting.next(), fitting.next()) {
        (Some(key), None) => Ok(key),
        (Some(_), Some(_)) => Err(TokenProblem::Wrong("does not name the key that signed it")),
        (None, _) => Err(TokenProblem::UnknownKey),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Made with OpenSSL for this test; the private key is kept nowhere.
    const N: &str = "n6l1eAtGnCV1N7mrpvq6bpIIbnwIGBdUYTnOhG6AlxhLPVqJnGcZOn3u0rpOGJJuKPN_Y0i3XNCsMq7Qh9RBZeI8\
        iHvDiwykmJSaYAv7G5afuwNfSyGblrhJbMy6Ko0sZaHfRVqDi_pgJmQKm87DGBsSn65h61y8gU3eZvs8aB6SsXhw\
        EbgAnPN_0kRxoBov3-PhZAZZBxQVUZr1NR4UD2gu7vu1Of5u6XBtFZFXpSN2SG_Lnkdmpdh1FkN1cM22GzQ6H5Py\
        q0SaRAXiF4y4JHMmmAUzGu8lM0RabSrGVyOVBb0FPIAwAte6TPCCNKPT0w7RMb9pVXSrV7R1XNy2lw";
    const RS256: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJzdWIiOiJ4In0.FZxXSkS5ji2AkKYuh7MwMwqDDlc7JganyTI5c\
        o5b8Oo5T3kuhpwtRninbohPgOr1nHT8OY5u3NfSsxBDXo5bm95pqP-_Vp4a8IhKDmCi1nj2wUnRrpp4NPwrjIFdm\
        vDqjr3sNPG4ixfusxwORsN2Co754HMdRwurLbO5uoY_smSFwHvyxLRK--KIkJJYH32cGNBhk_tzQqh2fPj-v0KjM\
        KaBj9lL5lKvF1V2vLuvOSA_7hFqOEFWZA734PeRD7pawyKmIvH5vuCdFeJjyXmD1mh465qMC7mefIvB6QPRPRW2a\
        wbcrVuYL3U61WhAL7BIpYwBZQCngQeH4NBl9ZbrXg";
    const PS256: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6ImsifQ.eyJzdWIiOiJ4In0.kgG5k5WDdb_fkpgfCneXw9ldt2qG5lnlJifrM\
        5_hqt44QGiKcxteXgtNT9DylLD6wj_bLzvTr1PQclIkYmYqxNcRXCbxC4fzQyJfC7dXuw21o3PTNeVFKzVjipmEu\
        KPF0qfO6SHfFSkVQk1q8Uk7sbD3Gxv25OJsTZh6kV0E-bEaVA7sbRxUivXTx07n0VCGNRmNga0uWnP-DqoRhKKix\
        TvakLSYXZJzqPzKp2t2EXJjMcENx_vbLG_6XocH1PsQ8zKiaLe5qZj2n289YrFx8wkHlMMhfqiF4vbTp8CCoGNjE\
        hzxjOI2piSx36tzokLKrk6MLG7QdQu92X14XK3Kaw";

    fn set(more: Value) -> Vec<Key> {
        let mut key = json!({"kty": "RSA", "kid": "k", "n": N, "e": "AQAB"});
        for (name, value) in more.as_object().unwrap() {
            key[name] = value.clone();
        }
        read(&json!({"keys": [{"kty": "oct", "k": "AA"}, key]}))
    }

    #[test]
    fn a_head_that_asks_for_more_than_is_known_is_refused() {
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"k","crit":["x"],"x":1}"#);
        let (_, rest) = RS256.split_once('.').unwrap();
        let refused = verified(&format!("{head}.{rest}"), &set(json!({})));
        let text = "has critical headers that are not supported";
        assert_eq!(refused, Err(TokenProblem::Wrong(text)));
    }

    #[test]
    fn a_signature_by_the_providers_rsa_key_is_taken_and_no_other() {
        for token in [RS256, PS256] {
            let claims = verified(token, &set(json!({}))).unwrap();
            assert_eq!(claims["sub"], "x");
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let other = format!("{}.{signature}", signed.replace(".eyJ", ".eyK"));
            for broken in [
                other,
                format!("{signed}."),
                signed.to_owned(),
                format!("{token}.x"),
            ] {
                let refused = verified(&broken, &set(json!({})));
                assert!(matches!(refused, Err(TokenProblem::Wrong(_))), "{broken}");
            }
        }
        let swapped = format!(
            "{}.{}",
            RS256.rsplit_once('.').unwrap().0,
            PS256.rsplit_once('.').unwrap().1
        );
        assert!(verified(&swapped, &set(json!({}))).is_err());
    }

    #[test]
    fn a_key_serves_for_what_it_is_published_for() {
        for (more, problem) in [
            (json!({"alg": "PS256"}), true),
            (json!({"use": "enc"}), true),
            (json!({"kid": "other"}), true),
            (json!({"alg": "RS256", "use": "sig"}), false),
        ] {
            let unknown = verified(RS256, &set(more.clone())) == Err(TokenProblem::UnknownKey);
            assert_eq!(unknown, problem, "{more}");
        }
        let twice = [set(json!({})), set(json!({}))]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        assert!(matches!(
            verified(RS256, &twice),
            Err(TokenProblem::Wrong(_))
        ));
    }

    #[test]
    fn a_secret_of_both_sides_is_no_signature_of_the_provider() {
        for head in [
            r#"{"alg":"HS256","kid":"k"}"#,
            r#"{"alg":"none"}"#,
            r#"{"alg":"rs256"}"#,
        ] {
            let head = URL_SAFE_NO_PAD.encode(head);
            let token = format!("{head}.e30.AAAA");
            assert!(matches!(
                verified(&token, &set(json!({}))),
                Err(TokenProblem::Wrong(_))
            ));
        }
    }
}

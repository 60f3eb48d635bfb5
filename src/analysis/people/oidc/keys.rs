//! The keys of an identity provider (RFC 7517) and the check of a signature by them (RFC 7515). What a
//! token says is looked at in `claims`.

use super::OidcError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// Keys that are kept of one provider.
const MOST_KEYS: usize = 64;
/// Bytes of a coordinate of a key on the curve P-256.
const COORDINATE: usize = 32;

/// A key that signatures are checked by.
pub(super) struct Key {
    id: Option<String>,
    algorithm: Option<String>,
    material: Material,
}

enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Both coordinates behind the sign of an uncompressed point.
    P256(Vec<u8>),
}

/// The head of a token.
#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
    /// What has to be understood besides (RFC 7515 4.1.11): nothing is.
    crit: Option<Value>,
}

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureProblem {
    /// It is by a key that is not known: the provider may have a new one.
    UnknownKey,
    /// Nothing that a new key would mend.
    Wrong(&'static str),
}

impl From<SignatureProblem> for OidcError {
    fn from(problem: SignatureProblem) -> Self {
        Self::Token(match problem {
            SignatureProblem::UnknownKey => "is signed by a key that the provider does not publish",
            SignatureProblem::Wrong(what) => what,
        })
    }
}

/// The keys of a key set for signatures; others are left out.
pub(super) fn read(set: &Value) -> Vec<Key> {
    let keys = set.get("keys").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().take(MOST_KEYS);
    keys.filter_map(key).collect()
}

fn key(value: &Value) -> Option<Key> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
    if text("use").is_some_and(|for_what| for_what != "sig") {
        return None;
    }
    let material = match (text("kty")?, text("crv")) {
        ("RSA", _) => Material::Rsa {
            n: bytes("n")?,
            e: bytes("e")?,
        },
        ("EC", Some("P-256")) => {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let fits = x.len() == COORDINATE && y.len() == COORDINATE;
            fits.then(|| Material::P256([vec![4], x, y].concat()))?
        }
        _ => return None,
    };
    Some(Key {
        id: text("kid").map(str::to_owned),
        algorithm: text("alg").map(str::to_owned),
        material,
    })
}

/// The claims of a token whose signature is that of one of the keys.
pub(super) fn verified(token: &str, keys: &[Key]) -> Result<Value, SignatureProblem> {
    let malformed = SignatureProblem::Wrong("is not a signed token");
    let parts: Vec<&str> = token.split('.').collect();
    let [head, claims, signature] = parts[..] else {
        return Err(malformed);
    };
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed);
    let parsed: Head = serde_json::from_slice(&decoded(head)?).map_err(|_| malformed)?;
    let signature = decoded(signature)?;
    let key = chosen(&parsed, keys)?;
    let signed = format!("{head}.{claims}");
    if !key.is_by(&parsed.alg, signed.as_bytes(), &signature) {
        return Err(SignatureProblem::Wrong(
            "has a signature that is not the provider's",
        ));
    }
    serde_json::from_slice(&decoded(claims)?).map_err(|_| malformed)
}

/// The one key that the head means. The algorithm is the key's to say, not the token's alone.
fn chosen<'k>(head: &Head, keys: &'k [Key]) -> Result<&'k Key, SignatureProblem> {
    if !matches!(head.alg.as_str(), "RS256" | "PS256" | "ES256") {
        let text = "is not signed by RS256, PS256 or ES256";
        return Err(SignatureProblem::Wrong(text));
    }
    if head.crit.is_some() {
        let text = "has to be understood in ways that are not known";
        return Err(SignatureProblem::Wrong(text));
    }
    let mut fitting = keys
        .iter()
        .filter(|key| key.suits(&head.alg) && (head.kid.is_none() || key.id == head.kid));
    match (fitting.next(), fitting.next()) {
        (Some(key), None) => Ok(key),
        (Some(_), Some(_)) => Err(SignatureProblem::Wrong("does not say which key signed it")),
        (None, _) => Err(SignatureProblem::UnknownKey),
    }
}

impl Key {
    fn suits(&self, algorithm: &str) -> bool {
        let kind = match self.material {
            Material::Rsa { .. } => matches!(algorithm, "RS256" | "PS256"),
            Material::P256(_) => algorithm == "ES256",
        };
        kind && self.algorithm.as_deref().is_none_or(|own| own == algorithm)
    }

    fn is_by(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa { n, e } => {
                let way: &RsaParameters = match algorithm {
                    "PS256" => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents { n, e };
                key.verify(way, signed, signature).is_ok()
            }
            Material::P256(point) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(signed, signature).is_ok()
            }
        }
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
        let text = "has to be understood in ways that are not known";
        assert_eq!(refused, Err(SignatureProblem::Wrong(text)));
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
                assert!(
                    matches!(refused, Err(SignatureProblem::Wrong(_))),
                    "{broken}"
                );
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
            let unknown = verified(RS256, &set(more.clone())) == Err(SignatureProblem::UnknownKey);
            assert_eq!(unknown, problem, "{more}");
        }
        let twice = [set(json!({})), set(json!({}))]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        assert!(matches!(
            verified(RS256, &twice),
            Err(SignatureProblem::Wrong(_))
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
                Err(SignatureProblem::Wrong(_))
            ));
        }
    }
}

//! A begun sign-in as one word of a cookie, with the time and a signature: whoever comes back must have begun here,
//! within the time limit. All servers with one configuration have one key, which follows from the client secret.
//! Without a client secret the signature keeps nobody out: then there is no secret of ours to be sent either.

use super::{Flow, LASTS};
use crate::config::OidcSettings;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use monitor_model::Secret;
use ring::hmac;

/// What the key is used for, so that it serves nothing else.
const USE: &str = "monitor: a begun sign-in";

/// The key of one provider's sign-ins.
pub(super) struct FlowKey(hmac::Key);

impl FlowKey {
    pub(super) fn new(settings: &OidcSettings) -> Self {
        let secret = settings.client_secret.as_ref().map_or("", Secret::expose);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let of_client = [USE, &settings.issuer, &settings.client_id].join("\0");
        let key = hmac::sign(&secret, of_client.as_bytes());
        Self(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()))
    }

    /// The word of a flow that begins now.
    pub(super) fn sign(&self, flow: &Flow, now_ms: i64) -> Secret {
        let Flow {
            state,
            nonce,
            verifier,
        } = flow;
        let content = format!("{state}.{nonce}.{verifier}.{now_ms}");
        let signature = hmac::sign(&self.0, content.as_bytes());
        Secret::new(format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The flow of a word with a valid signature that began within the time limit.
    pub(super) fn read(&self, word: &str, now_ms: i64) -> Option<Flow> {
        let (content, signature) = word.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.0, content.as_bytes(), &signature).ok()?;
        let mut parts = content.split('.').map(str::to_owned);
        let flow = Flow {
            state: parts.next()?,
            nonce: parts.next()?,
            verifier: parts.next()?,
        };
        let begun_ms: i64 = parts.next()?.parse().ok()?;
        let age_ms = now_ms.abs_diff(begun_ms);
        (parts.next().is_none() && u128::from(age_ms) <= LASTS.as_millis()).then_some(flow)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::OidcSettings;

    const NOW_MS: i64 = 1_700_000_000_000;
    const LASTS_MS: i64 = LASTS.as_millis() as i64;

    fn key(secret: &str) -> FlowKey {
        FlowKey::new(&OidcSettings {
            issuer: "https://id.example".to_owned(),
            client_id: "monitor".to_owned(),
            client_secret: Some(Secret::new(secret)),
            label: None,
            scopes: String::new(),
            role_claim: None,
            roles: Vec::new(),
            default_role: None,
            allowed_domains: Vec::new(),
        })
    }

    #[test]
    fn a_word_is_read_by_every_server_with_the_secret_for_its_time_and_by_no_other() {
        let flow = Flow::new().unwrap();
        let word = key("a").sign(&flow, NOW_MS);
        let read = |secret: &str, now_ms| key(secret).read(word.expose(), now_ms);
        assert!(read("a", NOW_MS) == Some(flow.clone()));
        assert!(read("a", NOW_MS + LASTS_MS) == Some(flow));
        assert!(read("a", NOW_MS + LASTS_MS + 1).is_none());
        assert!(read("b", NOW_MS).is_none());
    }

    #[test]
    fn a_word_that_was_changed_is_none() {
        let flow = Flow::new().unwrap();
        let word = key("a").sign(&flow, NOW_MS).expose().to_owned();
        for at in 0..word.len() {
            let mut changed = word.clone().into_bytes();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(key("a").read(&changed, NOW_MS).is_none(), "{at}");
        }
        let unsigned = word.rsplitn(3, '.').nth(2).unwrap();
        for word in ["", ".", "a.b.c", "a.b.c.1", "a.b.c.1.", unsigned] {
            assert!(key("a").read(word, NOW_MS).is_none(), "{word}");
        }
    }
}

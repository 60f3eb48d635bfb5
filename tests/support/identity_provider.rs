//! A scripted OpenID Connect provider: a description, keys, and a token endpoint that checks what a
//! client owes it (code once, PKCE, the client's secret). It knows nothing of the program but the wire.

use super::server::Received;
use super::upstream::{Upstream, json, response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the provider calls the program, and the secret it gave it.
pub const CLIENT: &str = "monitor";
pub const CLIENT_SECRET: &str = "a client's secret";

/// Which key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signer {
    /// The published one.
    Own,
    /// One that only says to be it.
    Forger,
    /// None at all: `alg` is `none`.
    Nobody,
}

struct Key {
    id: String,
    pair: EcdsaKeyPair,
}

/// Somebody who has agreed and is on the way back.
struct Grant {
    challenge: String,
    claims: Value,
}

struct State {
    key: Key,
    forger: Key,
    signer: Signer,
    grants: HashMap<String, Grant>,
    /// Of whom everybody is who comes.
    everybody: Option<Value>,
    tokens_asked: u32,
}

/// The provider.
pub struct IdentityProvider {
    upstream: Upstream,
    state: Arc<Mutex<State>>,
}

impl Key {
    fn new(id: &str) -> Self {
        let random = SystemRandom::new();
        let way = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(way, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(way, pkcs8.as_ref(), &random).unwrap();
        Self {
            id: id.to_owned(),
            pair,
        }
    }

    fn published(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let (x, y) = (
            URL_SAFE_NO_PAD.encode(&point[1..33]),
            URL_SAFE_NO_PAD.encode(&point[33..]),
        );
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id, "x": x, "y": y})
    }
}

impl IdentityProvider {
    /// Starts one.
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State {
            key: Key::new("first"),
            forger: Key::new("first"),
            signer: Signer::Own,
            grants: HashMap::new(),
            everybody: None,
            tokens_asked: 0,
        }));
        let shared = state.clone();
        let upstream = Upstream::answering(move |request| shared.lock().unwrap().answer(request));
        Self { upstream, state }
    }

    /// Its address.
    pub fn issuer(&self) -> String {
        self.upstream.url()
    }

    /// The lines of `sign_in:` that lead to it, for `analysis:` of an all-in-one file.
    pub fn yaml(&self, more: &str) -> String {
        let issuer = self.issuer();
        format!(
            "  sign_in: {{oidc: {{issuer: \"{issuer}\", client_id: {CLIENT}, client_secret: \"{CLIENT_SECRET}\"{more}}}}}\n"
        )
    }

    /// Who signs from now on.
    pub fn signs(&self, signer: Signer) {
        self.state.lock().unwrap().signer = signer;
    }

    /// Has another key from now on.
    pub fn rotates(&self, id: &str) {
        self.state.lock().unwrap().key = Key::new(id);
    }

    /// Sends every browser that comes back at once, as a person of these claims.
    pub fn agrees_to_everything(&self, claims: Value) {
        self.state.lock().unwrap().everybody = Some(claims);
    }

    /// How often it was asked for tokens.
    pub fn tokens_asked(&self) -> u32 {
        self.state.lock().unwrap().tokens_asked
    }

    /// Somebody agrees: where the browser is sent back to. `claims` are laid over those of a right
    /// token; null takes one away.
    #[track_caller]
    pub fn agrees(&self, location: &str, claims: Value) -> String {
        let issuer = self.issuer();
        assert!(
            location.starts_with(&format!("{issuer}/authorize?")),
            "{location}"
        );
        let back = self
            .state
            .lock()
            .unwrap()
            .grant((&issuer, location), &claims);
        let path = back.split_once("://").unwrap().1;
        path[path.find('/').unwrap()..].to_owned()
    }
}

impl State {
    /// Where the browser goes back to from this address.
    #[track_caller]
    fn grant(&mut self, (issuer, location): (&str, &str), claims: &Value) -> String {
        let asked = url::Url::parse(location).unwrap();
        let asked: HashMap<String, String> = asked.query_pairs().into_owned().collect();
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(asked[name], value);
        }
        assert!(asked["scope"].split(' ').any(|scope| scope == "openid"));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let mut whole = json!({"iss": issuer, "aud": CLIENT, "sub": "00u1", "iat": now,
            "exp": now + 300, "nonce": asked["nonce"]});
        for (name, value) in claims.as_object().unwrap() {
            whole[name] = value.clone();
        }
        let fields = whole.as_object_mut().unwrap();
        fields.retain(|_, value| !value.is_null());
        let code = uuid::Uuid::new_v4().to_string();
        let grant = Grant {
            challenge: asked["code_challenge"].clone(),
            claims: whole,
        };
        self.grants.insert(code.clone(), grant);
        format!(
            "{}?code={code}&state={}",
            asked["redirect_uri"], asked["state"]
        )
    }

    fn answer(&mut self, request: &Received) -> Vec<u8> {
        let base = format!("http://{}", request.head.header("host").unwrap());
        let answer = match request.head.target() {
            "/.well-known/openid-configuration" => json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "jwks_uri": format!("{base}/keys"),
            }),
            "/keys" => json!({"keys": [
                {"kty": "oct", "kid": "first", "k": "AAAA"}, self.key.published(),
            ]}),
            "/token" => match self.token(request) {
                Some(token) => {
                    json!({"access_token": "opaque", "token_type": "Bearer", "id_token": token})
                }
                None => return json(400, r#"{"error": "invalid_grant"}"#),
            },
            target => return self.page(&base, target),
        };
        json(200, &answer.to_string())
    }

    /// What a browser sees here.
    fn page(&mut self, base: &str, target: &str) -> Vec<u8> {
        match self.everybody.clone() {
            Some(claims) if target.starts_with("/authorize?") => {
                let back = self.grant((base, &format!("{base}{target}")), &claims);
                response(302, &format!("Location: {back}\r\n"), b"")
            }
            _ => json(404, "{}"),
        }
    }

    fn token(&mut self, request: &Received) -> Option<String> {
        self.tokens_asked += 1;
        let form: HashMap<_, _> = url::form_urlencoded::parse(&request.body)
            .into_owned()
            .collect();
        let secret = CLIENT_SECRET.replace(' ', "+").replace('\'', "%27");
        let expected = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{secret}")));
        let grant = self.grants.remove(form.get("code")?)?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(form.get("code_verifier")?));
        let is_client = request.head.header("authorization") == Some(expected.as_str());
        (is_client && challenge == grant.challenge).then(|| self.signed(&grant.claims))
    }

    fn signed(&self, claims: &Value) -> String {
        let (key, alg) = match self.signer {
            Signer::Own => (&self.key, "ES256"),
            Signer::Forger => (&self.forger, "ES256"),
            Signer::Nobody => (&self.key, "none"),
        };
        let head = json!({"alg": alg, "kid": key.id, "typ": "JWT"});
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&head), encoded(claims));
        let signature = key
            .pair
            .sign(&SystemRandom::new(), signed.as_bytes())
            .unwrap();
        let signature = match self.signer {
            Signer::Nobody => String::new(),
            _ => URL_SAFE_NO_PAD.encode(signature),
        };
        format!("{signed}.{signature}")
    }
}

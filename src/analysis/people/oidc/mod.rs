//! Signing in by an OpenID Connect provider: the authorization code flow with PKCE. This module sends a
//! browser to the provider and determines who came back; `oidc_accounts` finds the account.
//!
//! - Each sign-in has its own state, nonce and verifier, 256 random bits each. They stay in the browser
//!   that began it, signed (`signed_flow`), and a state is accepted once, at whichever server.
//! - Who comes back takes turns by address: what one sends here delays nobody elsewhere.
//! - Only a token from the provider's own token endpoint is accepted, and its signature, issuer, audience,
//!   times and nonce are checked all the same.
//! - No error text contains a code, a token or a secret.

mod claims;
mod client;
mod keys;
mod signed_flow;

pub(crate) use claims::Person;

use crate::analysis::access::token_cache::random_value;
use crate::analysis::clock::now_ms;
use crate::config::OidcSettings;
use crate::fair_queue::{Claim, QUANTUM, Tenant, TurnLimits, Turns, Urgency, network};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use client::Http;
use keys::{Key, TokenProblem};
use monitor_model::Secret;
use serde_json::Value;
use sha2::{Digest, Sha256};
use signed_flow::FlowKey;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;
use thiserror::Error;
use tokio::sync::Mutex as AsyncMutex;

/// The time limit of a sign-in.
pub(crate) const LASTS: Duration = Duration::from_secs(600);
/// How long a provider's metadata and keys are cached.
const CACHED_FOR: Duration = Duration::from_secs(3_600);
/// Sign-ins that are finished at the same time; those of one address have one place less.
const CONCURRENT: usize = 8;
/// Sign-ins that wait to be finished, how many of them one address may have (a quarter), and for how long.
const WAITING: u64 = 256;
const PARTS: u64 = 4;
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// They take turns by number.
const COST: u64 = QUANTUM;

/// Why a sign-in fails. The text appears on pages and in the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum OidcError {
    /// The provider does not answer.
    #[error("the identity provider cannot be reached: {0}")]
    Unreachable(&'static str),
    /// The provider's answer is not valid.
    #[error("the identity provider's answer {0}")]
    Answer(&'static str),
    /// The provider's metadata does not match the configuration.
    #[error("the identity provider's metadata {0}")]
    Metadata(&'static str),
    /// The provider answers with an error: the status and its error code.
    #[error("the identity provider refuses with status {0} {1}")]
    Refused(u16, String),
    /// The provider sent the browser back with this error code.
    #[error("the identity provider did not sign you in: {0}")]
    Denied(String),
    /// The provider's token is not accepted.
    #[error("the identity provider's token {0}")]
    Token(&'static str),
    /// The sign-in was begun in another browser or too long ago, or is already finished.
    #[error("this sign-in was begun elsewhere or too long ago, or is over: begin again")]
    Stale,
    /// Too many others are under way.
    #[error("too many sign-ins are under way: try again")]
    Busy,
    /// The person is authenticated, but not allowed in.
    #[error("you cannot sign in: {0}")]
    AccessDenied(AccessDenied),
}

/// Why an authenticated person is not allowed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum AccessDenied {
    #[error("no verified e-mail address of an allowed domain")]
    OtherDomain,
    #[error("there is no account for you, and no role to create one with")]
    NoAccount,
    #[error("your name belongs to another account; ask an administrator")]
    NameTaken,
    #[error("your account is disabled")]
    Disabled,
}

/// What the browser stores while its owner is at the provider.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Returned by the provider.
    pub(crate) state: String,
    nonce: String,
    verifier: String,
}

/// The parameters with which the browser came back.
pub(crate) struct CallbackParameters<'a> {
    pub(crate) state: &'a str,
    pub(crate) code: &'a str,
    /// RFC 9207; empty where the provider does not send it.
    pub(crate) issuer: &'a str,
    /// The redirect URI of the sign-in.
    pub(crate) redirect: &'a str,
    /// Whose turn it takes.
    pub(crate) address: Option<IpAddr>,
}

/// An identity provider, with its cached metadata and keys.
pub(crate) struct Provider {
    settings: OidcSettings,
    http: Http,
    metadata: AsyncMutex<Option<(Instant, Arc<Metadata>)>>,
    keys: AsyncMutex<Option<(Instant, Arc<Vec<Key>>)>>,
    turns: Arc<Turns>,
    flow_key: FlowKey,
}

/// The provider's metadata (OpenID Connect Discovery 1.0).
struct Metadata {
    authorization: String,
    token: String,
    keys: String,
    /// Whether the client secret is sent in a header.
    takes_basic: bool,
}

/// Where keys come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeySource {
    Cache,
    Provider,
}

impl Flow {
    fn new() -> Result<Self, OidcError> {
        let random = || {
            let value = random_value();
            value.map_err(|_| OidcError::Unreachable("the system's random number generator failed"))
        };
        Ok(Self {
            state: random()?.expose().to_owned(),
            nonce: random()?.expose().to_owned(),
            verifier: random()?.expose().to_owned(),
        })
    }
}

impl Provider {
    /// Connects to nothing yet.
    pub(crate) fn new(settings: OidcSettings) -> std::io::Result<Self> {
        Ok(Self {
            http: Http::new(&settings.issuer)?,
            flow_key: FlowKey::new(&settings),
            settings,
            metadata: AsyncMutex::default(),
            keys: AsyncMutex::default(),
            turns: Turns::new(TurnLimits {
                places: CONCURRENT,
                reserved: 1,
                short: COST,
                waiting_cost: WAITING * COST,
                parts: PARTS,
                longest_wait: LONGEST_WAIT,
            }),
        })
    }

    pub(crate) fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// A flow as one word of a cookie.
    pub(crate) fn word(&self, flow: &Flow) -> Secret {
        self.flow_key.sign(flow, now_ms())
    }

    /// Reads such a word; None of one that no server of this configuration wrote, or too long ago.
    pub(crate) fn read(&self, word: &str) -> Option<Flow> {
        self.flow_key.read(word, now_ms())
    }

    /// The URL that the browser is sent to, and what it stores meanwhile.
    pub(crate) async fn begin(&self, redirect: &str) -> Result<(String, Flow), OidcError> {
        let (metadata, flow) = (self.metadata().await?, Flow::new()?);
        let address = url::Url::parse(&metadata.authorization);
        let mut address = address.map_err(|_| OidcError::Metadata("has no usable URL"))?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(flow.verifier.as_bytes()));
        address.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", redirect),
            ("scope", &self.settings.scopes),
            ("state", &flow.state),
            ("nonce", &flow.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok((address.into(), flow))
    }

    /// The person who came back to the browser that began this, for the first time ([`Provider::recognize`],
    /// `People::take_state`). Whether they are allowed in depends on their account.
    pub(crate) async fn finish(
        &self,
        flow: &Flow,
        returned: CallbackParameters<'_>,
    ) -> Result<Person, OidcError> {
        let claim = Claim {
            tenant: Tenant::new(&returned.address.map(network), &()),
            urgency: Urgency::Awaited,
        };
        let turn = self.turns.take(claim, COST).await;
        let _turn = turn.map_err(|_| OidcError::Busy)?;
        let token = self.exchange(flow, &returned).await?;
        let claims = match keys::verified(&token, &self.keys(KeySource::Cache).await?) {
            Err(TokenProblem::UnknownKey) => {
                keys::verified(&token, &self.keys(KeySource::Provider).await?)
            }
            other => other,
        }?;
        claims::person(&claims, &self.settings, &flow.nonce, now_ms() / 1_000)
    }

    /// Checks that this browser began the sign-in.
    pub(crate) fn recognize(
        &self,
        flow: &Flow,
        returned: &CallbackParameters<'_>,
    ) -> Result<(), OidcError> {
        let is_own = flow.state.as_bytes().ct_eq(returned.state.as_bytes());
        let is_issuers = returned.issuer.is_empty() || returned.issuer == self.settings.issuer;
        match bool::from(is_own) && !flow.state.is_empty() && is_issuers {
            true => Ok(()),
            false => Err(OidcError::Stale),
        }
    }

    /// Exchanges a code for the ID token.
    async fn exchange(
        &self,
        flow: &Flow,
        returned: &CallbackParameters<'_>,
    ) -> Result<String, OidcError> {
        let metadata = self.metadata().await?;
        let id = self.settings.client_id.as_str();
        let secret = self.settings.client_secret.as_ref();
        let basic = secret.filter(|_| metadata.takes_basic);
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", returned.code),
            ("redirect_uri", returned.redirect),
            ("code_verifier", &flow.verifier),
        ];
        if basic.is_none() {
            fields.push(("client_id", id));
            fields.extend(secret.map(|secret| ("client_secret", secret.expose())));
        }
        let client = basic.map(|secret| (id, secret));
        let call = self.http.post(&metadata.token, form(&fields), client);
        let answer = call.await?;
        let token = answer.get("id_token").and_then(Value::as_str);
        let token = token.ok_or(OidcError::Answer("has no ID token"))?;
        Ok(token.to_owned())
    }

    async fn metadata(&self) -> Result<Arc<Metadata>, OidcError> {
        let mut known = self.metadata.lock().await;
        if let Some((at, metadata)) = &*known
            && at.elapsed() < CACHED_FOR
        {
            return Ok(metadata.clone());
        }
        let base = self.settings.issuer.trim_end_matches('/');
        let address = format!("{base}/.well-known/openid-configuration");
        let read = self.read_metadata(&self.http.get(&address).await?)?;
        let read = Arc::new(read);
        *known = Some((Instant::now(), read.clone()));
        Ok(read)
    }

    fn read_metadata(&self, value: &Value) -> Result<Metadata, OidcError> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        if text("issuer") != Some(self.settings.issuer.as_str()) {
            return Err(OidcError::Metadata("is of another issuer"));
        }
        let address = |name: &str| {
            let given = text(name).filter(|given| self.http.takes(given));
            let missing = OidcError::Metadata("lacks a URL, or has one without TLS");
            given.map(str::to_owned).ok_or(missing)
        };
        let ways = value.get("token_endpoint_auth_methods_supported");
        let ways = ways.and_then(Value::as_array);
        Ok(Metadata {
            authorization: address("authorization_endpoint")?,
            token: address("token_endpoint")?,
            keys: address("jwks_uri")?,
            takes_basic: ways
                .is_none_or(|ways| ways.iter().any(|way| way == "client_secret_basic")),
        })
    }

    async fn keys(&self, source: KeySource) -> Result<Arc<Vec<Key>>, OidcError> {
        let mut known = self.keys.lock().await;
        if let Some((at, keys)) = &*known
            && source == KeySource::Cache
            && at.elapsed() < CACHED_FOR
        {
            return Ok(keys.clone());
        }
        let address = self.metadata().await?.keys.clone();
        let read = Arc::new(keys::read(&self.http.get(&address).await?));
        *known = Some((Instant::now(), read.clone()));
        Ok(read)
    }
}

/// The error of a code that a browser brought back.
pub(crate) fn denied(word: &str) -> OidcError {
    let word = client::plain_word(Some(word));
    OidcError::Denied(match word.is_empty() {
        true => "it does not say why".to_owned(),
        false => word,
    })
}

fn form(fields: &[(&str, &str)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    form.finish()
}

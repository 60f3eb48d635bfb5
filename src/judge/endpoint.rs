//! A server that is called over HTTP, with every limit of a call: one deadline for waiting, calling and
//! reading, a number of concurrent calls, a number that wait, a size of answers, and a circuit breaker. A
//! [`RemoteCheck`] defines the question and reads the answer.

use super::fault::Fault;
use crate::config::{BaseUrl, CallLimits};
use crate::fair_queue::{self, QUANTUM, Turn, TurnLimits, Turns};
use crate::http_client::{
    Admission, BreakerSettings, CircuitBreaker, ClientError, HttpClient, Transition, bearer, whole,
};
use crate::observe::events::{RemoteCalled, RemoteHealthChanged};
use crate::observe::{Metrics, RemoteLabel, RemoteOutcome};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, Uri};
use monitor_model::Secret;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;
use tokio::time::timeout_at;

/// Largest answer that is read.
const LARGEST_ANSWER: usize = 1 << 20;

/// A question to another server about one text.
pub trait RemoteCheck: Sync {
    /// What an answer is read as.
    type Found: Send;

    /// The body of the request.
    fn request(&self) -> Value;

    /// Reads the body of an answer.
    ///
    /// # Errors
    /// [`Fault::Nonsense`] where it is not in the requested form.
    fn read(&self, answer: &[u8]) -> Result<Self::Found, Fault>;
}

/// Why a server cannot be called at all.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The system's certificates cannot be read.
    #[error("the system's trusted certificates cannot be read: {0}")]
    Certificates(#[from] std::io::Error),
    /// Its URL or its key cannot be sent.
    #[error("its address or its key cannot be sent")]
    Unsendable,
}

/// How a server is called.
pub struct EndpointConfig<'a> {
    /// Its name in logs and metrics.
    pub label: RemoteLabel,
    /// Base URL of the server.
    pub base: &'a BaseUrl,
    /// The path, below the base URL.
    pub path: &'a str,
    /// Sent as bearer token.
    pub api_key: Option<&'a Secret>,
}

/// One server, with its client, its limits and its health.
pub struct Endpoint {
    label: RemoteLabel,
    client: HttpClient,
    uri: Uri,
    authorization: Option<HeaderValue>,
    limits: CallLimits,
    turns: Arc<Turns>,
    breaker: CircuitBreaker,
    metrics: Arc<Metrics>,
}

/// The health of a server, for `/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointStatus {
    /// It counts as down because it did not answer.
    pub is_down: bool,
    /// Calls in progress.
    pub calls: usize,
    /// Calls that wait for their turn.
    pub waiting: usize,
}

impl Endpoint {
    /// Connects nowhere yet.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, or the URL or key cannot be sent.
    pub fn new(
        reached: &EndpointConfig<'_>,
        limits: CallLimits,
        metrics: Arc<Metrics>,
    ) -> Result<Self, SetupError> {
        let uri = format!("{}{}", reached.base, reached.path);
        Ok(Self {
            label: reached.label,
            client: HttpClient::pooled(reached.base.tls, None)?,
            uri: uri.parse().map_err(|_| SetupError::Unsendable)?,
            authorization: reached
                .api_key
                .map(|key| bearer(key).ok_or(SetupError::Unsendable))
                .transpose()?,
            turns: Turns::new(turn_limits(&limits)),
            breaker: CircuitBreaker::new(BreakerSettings::probe_every(limits.probe_interval)),
            limits,
            metrics,
        })
    }

    /// The deadline of all calls about a message that arrives now.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.limits.timeout
    }

    /// Whether the server counts as down, and how many calls it has.
    pub fn status(&self) -> EndpointStatus {
        let figures = self.turns.figures();
        EndpointStatus {
            is_down: self.breaker.is_open(),
            calls: figures.running,
            waiting: figures.waiting,
        }
    }

    /// Asks the server, reads its answer and counts the outcome.
    ///
    /// # Errors
    /// [`Fault`], at the deadline at the latest.
    pub async fn ask<C: RemoteCheck>(
        &self,
        check: &C,
        deadline: Instant,
    ) -> Result<C::Found, Fault> {
        let started = Instant::now();
        let answer = self.answer(check, deadline).await;
        let found = answer.and_then(|answer| check.read(&answer));
        if !matches!(found, Err(Fault::Down)) {
            let seconds = started.elapsed().as_secs_f64();
            self.metrics.remote.took(self.label, seconds);
        }
        match &found {
            Ok(_) => self.came_to(RemoteOutcome::Answered, ""),
            Err(fault) => self.came_to(fault.outcome(), &fault.to_string()),
        }
        found
    }

    /// Counts and logs an outcome.
    pub(super) fn came_to(&self, outcome: RemoteOutcome, detail: &str) {
        RemoteCalled {
            check: self.label,
            outcome,
            detail,
        }
        .emit(&self.metrics);
    }

    async fn answer<C: RemoteCheck>(&self, check: &C, deadline: Instant) -> Result<Bytes, Fault> {
        let attempt = match self.breaker.admit(Instant::now()) {
            Admission::Closed(attempt) | Admission::Probe(attempt) => attempt,
            Admission::Open { .. } => return Err(Fault::Down),
        };
        let _turn = self.turn(deadline).await?;
        let body = serde_json::to_vec(&check.request()).unwrap_or_default();
        let started = Instant::now();
        let called = timeout_at(deadline.into(), self.post(body)).await;
        let answer = called.unwrap_or(Err(Fault::Late));
        let turn = match &answer {
            // A call that had waited long got less time than a server may take.
            Err(Fault::Late) if started.elapsed() * 2 < self.limits.timeout => Transition::None,
            Err(fault) if fault.is_outage() => self.breaker.failed(attempt, Instant::now(), 1.0),
            Ok(_) | Err(_) => self.breaker.answered(),
        };
        if turn != Transition::None {
            RemoteHealthChanged {
                check: self.label,
                is_down: turn == Transition::Opened,
            }
            .emit(&self.metrics);
        }
        answer
    }

    /// Waits for the tenant's turn, until the deadline.
    async fn turn(&self, deadline: Instant) -> Result<Turn, Fault> {
        let claim = fair_queue::account();
        if let Some(turn) = self.turns.try_take(claim, QUANTUM) {
            return Ok(turn);
        }
        let taken = timeout_at(deadline.into(), self.turns.take(claim, QUANTUM)).await;
        let turn = taken.map_err(|_| Fault::Busy)?;
        match self.breaker.is_open() {
            // It went down while this call waited.
            true => Err(Fault::Down),
            false => turn.map_err(|_| Fault::Busy),
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<Bytes, Fault> {
        let body = Bytes::from(body);
        let request = || {
            let mut request =
                Request::post(self.uri.clone()).header(CONTENT_TYPE, "application/json");
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            request.body(whole(body.clone()))
        };
        let first = request().map_err(|_| Fault::Unreachable("its address cannot be asked"))?;
        let answer = self.client.open_repeatable(first, || request().ok());
        let answer = answer.await.map_err(fault)?;
        match answer.status.is_success() {
            true => answer.read(LARGEST_ANSWER).await.map_err(fault),
            false => Err(Fault::Status(answer.status.as_u16())),
        }
    }
}

/// One call costs one turn. All calls of a message wait until its own deadline.
fn turn_limits(limits: &CallLimits) -> TurnLimits {
    TurnLimits {
        places: limits.concurrency,
        reserved: 0,
        short: u64::MAX,
        waiting_cost: QUANTUM.saturating_mul(limits.queue as u64),
        parts: 1,
        longest_wait: limits.timeout,
    }
}

fn fault(error: ClientError) -> Fault {
    match error {
        ClientError::Connect => Fault::Unreachable("no connection"),
        ClientError::Broken => Fault::Unreachable("the connection broke"),
        ClientError::Truncated => Fault::Unreachable("its answer broke off"),
        ClientError::TooLarge(most) => Fault::TooLarge(most),
        ClientError::Late => Fault::Late,
    }
}

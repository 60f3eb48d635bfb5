//! A server that is called over HTTP, with every limit of a call: one deadline for waiting, calling and
//! reading, a number of concurrent calls, a number that wait, a size of answers, and a circuit breaker. A
//! [`RemoteCheck`] defines the question and reads the answer.

use super::fault::Fault;
use crate::config::{BaseUrl, CallLimits};
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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use thiserror::Error;
use tokio::sync::{Semaphore, SemaphorePermit};
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
    turns: Semaphore,
    waiting: AtomicUsize,
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
            turns: Semaphore::new(limits.concurrency),
            waiting: AtomicUsize::new(0),
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
        EndpointStatus {
            is_down: self.breaker.is_open(),
            calls: self.limits.concurrency - self.turns.available_permits(),
            waiting: self.waiting.load(Ordering::Relaxed),
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

    /// Waits for a permit, until the deadline.
    async fn turn(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Fault> {
        if let Ok(permit) = self.turns.try_acquire() {
            return Ok(permit);
        }
        let _waiting = Waiting::enter(&self.waiting, self.limits.queue).ok_or(Fault::Busy)?;
        let acquired = timeout_at(deadline.into(), self.turns.acquire()).await;
        let permit = acquired.map_err(|_| Fault::Busy)?;
        match self.breaker.is_open() {
            // It went down while this call waited.
            true => Err(Fault::Down),
            false => permit.map_err(|_| Fault::Busy),
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<Bytes, Fault> {
        let mut request = Request::post(self.uri.clone()).header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request
            .body(whole(body))
            .map_err(|_| Fault::Unreachable("its address cannot be asked"))?;
        let answer = self.client.open(request).await.map_err(fault)?;
        match answer.status.is_success() {
            true => answer.read(LARGEST_ANSWER).await.map_err(fault),
            false => Err(Fault::Status(answer.status.as_u16())),
        }
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

/// Counts a waiting call as long as it waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let entered = Self(waiting);
        (before < most).then_some(entered)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

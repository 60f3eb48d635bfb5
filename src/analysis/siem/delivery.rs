//! Sends the events of one destination, in their order: each batch until the destination has taken it. A batch that is
//! refused for its content is sent in halves, until the event is found that is to blame; that one is left out. Of
//! several servers over one store, the one that has the lease sends.

use super::event::Event;
use super::hec::{HecSender, SendError};
use super::reader::EventReader;
use super::syslog::SyslogSender;
use crate::analysis::error::report;
use crate::observe::events::{SiemBack, SiemEventsLeft, SiemFailed};
use crate::observe::{Metrics, SiemResult};
use monitor_store::{Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

/// Events of one batch at most.
pub(super) const BATCH: u32 = 100;
/// How often a queue is looked at that was empty, or is another server's to send.
const POLL: Duration = Duration::from_secs(1);
/// The longest time for one batch.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may send to a destination without asking again. Renewed when no more than half is left, which
/// is as long as a batch may take.
const LEASE: Duration = Duration::from_secs(10);
/// The pause after a first failure; it doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How events reach a destination.
pub(super) enum Sender {
    Syslog(Box<SyslogSender>),
    Hec(Box<HecSender>),
}

/// The queue of one destination, and the way to it.
pub(super) struct Delivery {
    pub(super) name: String,
    pub(super) sender: Sender,
    pub(super) store: Arc<dyn Store>,
    pub(super) reader: EventReader,
    pub(super) metrics: Arc<Metrics>,
    /// This server, as it leases destinations.
    pub(super) holder: Uuid,
    pub(super) leased_until: Option<Instant>,
    /// Events that are sent at once.
    pub(super) batch: u32,
    /// Why the last attempt failed.
    pub(super) failure: Option<String>,
    /// The store says that nothing fails.
    pub(super) is_noted_as_working: bool,
}

/// Whose turn it is to send.
enum Turn {
    Ours,
    /// It has become ours: what waits may be less than before.
    New,
    Theirs,
}

/// Why a batch was not sent.
enum Fault {
    Store(StoreError),
    Destination(String),
    /// The destination refuses an event of the batch for its content.
    Content,
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Delivery {
    /// Sends what waits, again and again until the task is aborted.
    pub(super) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let wait = match self.send_batch().await {
                Ok(0) => POLL,
                Ok(_) => {
                    pause = FIRST_PAUSE;
                    continue;
                }
                Err(Fault::Store(error)) => {
                    report(&error);
                    POLL * 5
                }
                Err(Fault::Content) => {
                    self.batch /= 2;
                    continue;
                }
                Err(Fault::Destination(reason)) => {
                    self.note_failure(reason).await;
                    let wait = pause;
                    pause = LONGEST_PAUSE.min(pause * 2);
                    wait
                }
            };
            sleep(wait).await;
        }
    }

    /// Sends what waits, a batch at most; returns how many events left the queue.
    async fn send_batch(&mut self) -> Result<usize, Fault> {
        let mut queued = self.store.siem_queue(&self.name, self.batch).await?;
        if queued.is_empty() {
            return Ok(0);
        }
        match self.turn().await? {
            Turn::Ours => {}
            Turn::New => {
                // Whoever sent before may have noted a failure.
                self.is_noted_as_working = false;
                queued = self.store.siem_queue(&self.name, self.batch).await?;
            }
            Turn::Theirs => return Ok(0),
        }
        let events = self.reader.events(&queued).await?;
        let mut result = SiemResult::Sent;
        if !events.is_empty() {
            let sent = match timeout(SEND_TIMEOUT, self.sender.send(&events)).await {
                Ok(sent) => sent,
                Err(_) => Err(SendError::Later("it took too long".to_owned())),
            };
            match sent {
                Ok(()) => {}
                Err(SendError::Content) if self.batch == 1 => result = SiemResult::Refused,
                Err(SendError::Content) => return Err(Fault::Content),
                Err(SendError::Later(reason)) => return Err(Fault::Destination(reason)),
            }
            self.note_success().await;
        }
        self.batch = BATCH.min(self.batch * 2);
        let ids: Vec<i64> = queued.iter().map(|one| one.id).collect();
        self.store.finish_siem(&ids).await?;
        let gone = queued.len().saturating_sub(events.len());
        self.count(result, events.len());
        self.count(SiemResult::Gone, gone);
        Ok(queued.len())
    }

    fn count(&self, result: SiemResult, events: usize) {
        let left = SiemEventsLeft {
            destination: &self.name,
            result,
            events: events as u64,
        };
        left.emit(&self.metrics);
    }

    async fn turn(&mut self) -> Result<Turn, StoreError> {
        let asked = Instant::now();
        let is_ours = self.leased_until.is_some_and(|until| until > asked);
        if self
            .leased_until
            .is_some_and(|until| until > asked + LEASE / 2)
        {
            return Ok(Turn::Ours);
        }
        let is_leased = self
            .store
            .lease_siem(&self.name, self.holder, LEASE)
            .await?;
        self.leased_until = is_leased.then(|| asked + LEASE);
        Ok(match (is_leased, is_ours) {
            (true, true) => Turn::Ours,
            (true, false) => Turn::New,
            (false, _) => Turn::Theirs,
        })
    }

    /// The status page of every server shows it.
    async fn note_failure(&mut self, reason: String) {
        let is_new = self.failure.as_ref() != Some(&reason);
        let failed = SiemFailed {
            destination: &self.name,
            reason: &reason,
            is_new,
        };
        failed.emit(&self.metrics);
        if is_new {
            self.is_noted_as_working = false;
            let noted = self.store.note_siem_error(&self.name, Some(&reason)).await;
            noted.as_ref().err().into_iter().for_each(report);
            self.failure = Some(reason);
        }
    }

    async fn note_success(&mut self) {
        if self.failure.take().is_some() {
            let destination = &self.name;
            SiemBack { destination }.emit();
        }
        if self.is_noted_as_working {
            return;
        }
        match self.store.note_siem_error(&self.name, None).await {
            Ok(()) => self.is_noted_as_working = true,
            Err(error) => report(&error),
        }
    }
}

impl Sender {
    async fn send(&mut self, events: &[Event]) -> Result<(), SendError> {
        match self {
            Self::Syslog(syslog) => syslog.send(events).await.map_err(SendError::Later),
            Self::Hec(hec) => hec.send(events, SEND_TIMEOUT).await,
        }
    }
}

//! Refused sign-ins on their way into the audit log.

use super::entry_limit::{EntryLimit, MINUTE, MOST_ENTRIES, Outcome, Subject, Suppressed};
use super::reason::Reason;
use crate::analysis::audit::Action;
use crate::analysis::clock::now_ms;
use crate::analysis::people::oidc::Person;
use monitor_store::{Account, AuditEntry, AuditStore};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// The longest e-mail address that an entry repeats, in bytes (RFC 5321 4.5.3.1.3).
const LONGEST_EMAIL: usize = 254;

/// A sign-in that was refused.
pub(crate) struct RefusedSignIn<'a> {
    pub(crate) reason: Reason,
    /// The account that it was tried with, where there is one.
    pub(crate) account: Option<&'a Account>,
    /// The person the provider's token names, once the token was verified.
    pub(crate) person: Option<&'a Person>,
    /// The address of the browser.
    pub(crate) address: Option<IpAddr>,
}

impl RefusedSignIn<'_> {
    fn subject(&self) -> Subject {
        match (self.account, self.person) {
            (Some(account), _) => Subject::Account(account.id),
            (None, Some(person)) => Subject::Person(person.identity.subject.clone()),
            (None, None) => Subject::Nobody,
        }
    }

    fn entry(&self) -> AuditEntry {
        let mut details = Map::new();
        details.insert("reason".to_owned(), json!(self.reason.as_str()));
        details.insert("address".to_owned(), json!(self.address));
        if let Some(person) = self.person {
            let email = person.email.as_deref();
            let email = email.filter(|email| email.len() <= LONGEST_EMAIL);
            details.insert("subject".to_owned(), json!(person.identity.subject));
            details.extend(email.map(|email| ("email".to_owned(), json!(email))));
        }
        let account = self.account;
        AuditEntry {
            actor: account.map_or_else(String::new, |account| account.name.clone()),
            target: account.map_or_else(String::new, |account| account.id.0.to_string()),
            application_id: account.and_then(|account| account.application_id),
            ..entry_without_actor(Value::Object(details))
        }
    }
}

/// The entry about all refusals without one of their own.
fn summary_of(suppressed: &Suppressed) -> AuditEntry {
    entry_without_actor(json!({
        "more": suppressed.count(), "reasons": suppressed.reasons,
        "first_at_ms": suppressed.first_ms, "last_at_ms": suppressed.last_ms,
    }))
}

fn entry_without_actor(details: Value) -> AuditEntry {
    AuditEntry {
        seq: 0,
        at_ms: now_ms(),
        actor: String::new(),
        token_id: None,
        action: Action::AccountSignInFailed.as_str().to_owned(),
        target: String::new(),
        application_id: None,
        details,
    }
}

/// An audit entry, and the reason by which it is counted where it cannot be written.
struct PendingEntry {
    reason: Reason,
    entry: AuditEntry,
}

/// Writes audit entries, and a summary of the refusals without one.
struct Writer {
    store: Arc<dyn AuditStore>,
    limit: Mutex<EntryLimit>,
}

impl Writer {
    fn limit(&self) -> MutexGuard<'_, EntryLimit> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes entries until the sender is dropped.
    async fn run(&self, mut entries: Receiver<PendingEntry>) {
        let mut minutes = interval(MINUTE);
        minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                pending = entries.recv() => match pending {
                    Some(pending) => self.write(pending).await,
                    None => break,
                },
                _ = minutes.tick() => self.summarize().await,
            }
        }
        self.summarize().await;
    }

    async fn write(&self, PendingEntry { reason, entry }: PendingEntry) {
        let at_ms = entry.at_ms;
        if self.store.add_audit(entry).await.is_err() {
            self.limit().suppress(Suppressed::one(reason, at_ms));
        }
    }

    /// One entry about all refusals without one of their own.
    async fn summarize(&self) {
        let suppressed = self.limit().suppressed.take();
        let Some(suppressed) = suppressed else {
            return;
        };
        let summary = summary_of(&suppressed);
        if self.store.add_audit(summary).await.is_err() {
            log::error!(
                "cannot write the audit log: {} refused sign-ins are missing from it",
                suppressed.count()
            );
            self.limit().suppress(suppressed);
        }
    }
}

/// The running writer.
struct Running {
    entries: Sender<PendingEntry>,
    task: JoinHandle<()>,
}

/// Writes refused sign-ins to the audit log, in a task that ends with [`RefusedSignIns::stop`].
pub(crate) struct RefusedSignIns {
    writer: Arc<Writer>,
    running: Mutex<Option<Running>>,
}

impl RefusedSignIns {
    /// Starts the task on the calling runtime.
    pub(crate) fn start(store: Arc<dyn AuditStore>) -> Self {
        let writer = Arc::new(Writer {
            store,
            limit: Mutex::default(),
        });
        let (entries, received) = channel(MOST_ENTRIES);
        let own = writer.clone();
        let task = tokio::spawn(async move { own.run(received).await });
        Self {
            writer,
            running: Mutex::new(Some(Running { entries, task })),
        }
    }

    /// Gives a refusal its audit entry, or counts it.
    pub(crate) fn note(&self, refusal: &RefusedSignIn<'_>) {
        let outcome = self.writer.limit().admit(refusal.subject(), Instant::now());
        let is_sent = outcome == Outcome::Entry
            && self.send(PendingEntry {
                reason: refusal.reason,
                entry: refusal.entry(),
            });
        if !is_sent {
            let one = Suppressed::one(refusal.reason, now_ms());
            self.writer.limit().suppress(one);
        }
    }

    fn send(&self, pending: PendingEntry) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = running.as_ref().map(|running| &running.entries);
        entries.is_some_and(|entries| entries.try_send(pending).is_ok())
    }

    /// Writes what is pending and waits until that is done.
    pub(crate) async fn stop(&self) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Running { entries, task }) = running {
            drop(entries);
            // A task that panicked has nothing left to write.
            let _ = task.await;
        }
    }
}

//! Sign-ins that were refused, as lines of the audit log: each with a reason of a closed list, and no
//! more of them in a minute than `LINES`, however often it is tried. What is beyond that is counted and
//! told in one line once a minute, and when the server stops. Each process counts for itself.
//!
//! - What a browser or a provider brought along is in no line; a name or an address is, once a token
//!   that was checked says it, or an account has it.
//! - Nobody waits for a line: how long a refusal takes tells nothing of the account.
//!
//! Guessing is slowed by `ui::attempts`; who gets in is decided in `accounts` and `oidc_accounts`.

mod lines;
mod reason;

pub(in crate::analysis) use reason::Reason;

use super::oidc::Person;
use crate::analysis::audit::Action;
use crate::analysis::clock::now_ms;
use lines::{About, LINES, LeftOut, Lines, MINUTE, Place};
use monitor_store::{Account, AuditEntry, Store};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// The longest address that a line repeats, in bytes (RFC 5321 4.5.3.1.3).
const LONGEST_EMAIL: usize = 254;

/// A sign-in that was refused.
pub(in crate::analysis) struct Refusal<'a> {
    pub(in crate::analysis) reason: Reason,
    /// The account that it was tried with, where there is one.
    pub(in crate::analysis) account: Option<&'a Account>,
    /// Whom the provider's token is about, once it was checked.
    pub(in crate::analysis) person: Option<&'a Person>,
    /// Where it came from.
    pub(in crate::analysis) address: Option<IpAddr>,
}

impl Refusal<'_> {
    fn about(&self) -> About {
        match (self.account, self.person) {
            (Some(account), _) => About::Account(account.id),
            (None, Some(person)) => About::Person(person.identity.subject.clone()),
            (None, None) => About::Nobody,
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
            ..entry_of_nobody(Value::Object(details))
        }
    }
}

/// The one line of all that were left out.
fn entry_of(left_out: &LeftOut) -> AuditEntry {
    entry_of_nobody(json!({
        "more": left_out.count(), "reasons": left_out.reasons,
        "first_at_ms": left_out.first_ms, "last_at_ms": left_out.last_ms,
    }))
}

fn entry_of_nobody(details: Value) -> AuditEntry {
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

/// A line, and the reason by which it is counted where it cannot be written.
type Line = (Reason, AuditEntry);

struct Book {
    store: Arc<dyn Store>,
    lines: Mutex<Lines>,
}

impl Book {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines until no more can come.
    async fn keep(&self, mut lines: Receiver<Line>) {
        let mut minutes = interval(MINUTE);
        minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some((reason, entry)) => self.write(reason, entry).await,
                    None => break,
                },
                _ = minutes.tick() => self.tell().await,
            }
        }
        self.tell().await;
    }

    async fn write(&self, reason: Reason, entry: AuditEntry) {
        let at_ms = entry.at_ms;
        if self.store.add_audit(entry).await.is_err() {
            self.lines().leave_out(LeftOut::one(reason, at_ms));
        }
    }

    async fn tell(&self) {
        let left_out = self.lines().left_out.take();
        let Some(left_out) = left_out else {
            return;
        };
        if self.store.add_audit(entry_of(&left_out)).await.is_err() {
            log::error!(
                "{} sign-ins were refused, which the audit log does not say: it could not be written",
                left_out.count()
            );
            self.lines().leave_out(left_out);
        }
    }
}

/// Where lines go to, and who writes them.
struct Open {
    lines: Sender<Line>,
    task: JoinHandle<()>,
}

/// The way of refusals into the log; the task that writes them ends with [`Refusals::stop`].
pub(in crate::analysis) struct Refusals {
    book: Arc<Book>,
    open: Mutex<Option<Open>>,
}

impl Refusals {
    /// Starts the task on the calling runtime.
    pub(in crate::analysis) fn start(store: Arc<dyn Store>) -> Self {
        let book = Arc::new(Book {
            store,
            lines: Mutex::default(),
        });
        let (lines, written) = channel(LINES);
        let own = book.clone();
        let task = tokio::spawn(async move { own.keep(written).await });
        Self {
            book,
            open: Mutex::new(Some(Open { lines, task })),
        }
    }

    /// Gives a refusal its line, or counts it.
    pub(in crate::analysis) fn note(&self, refusal: &Refusal<'_>) {
        let place = self.book.lines().place(refusal.about(), Instant::now());
        let is_sent = place == Place::Line && self.send((refusal.reason, refusal.entry()));
        if !is_sent {
            let one = LeftOut::one(refusal.reason, now_ms());
            self.book.lines().leave_out(one);
        }
    }

    fn send(&self, line: Line) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = open.as_ref().map(|open| &open.lines);
        lines.is_some_and(|lines| lines.try_send(line).is_ok())
    }

    /// Writes what is left and waits until that is done.
    pub(in crate::analysis) async fn stop(&self) {
        let open = self
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Open { lines, task }) = open {
            drop(lines);
            // That it ended is all there is to know.
            let _ = task.await;
        }
    }
}

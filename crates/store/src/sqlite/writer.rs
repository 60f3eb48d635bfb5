//! The one connection that writes. A task takes everything that is queued into one transaction, so
//! that many callers share one sync to disk, and answers them only after COMMIT.

use super::erasure;
use super::insert;
use super::rows::NewRow;
use super::write::{Write, apply};
use crate::{Account, Attached, BlobHash, Changed, Erased, StoreError, Token};
use monitor_model::AnalysisResponse;
use sqlx::{Connection, SqliteConnection};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// Writes in one transaction at most.
const BATCH: usize = 512;
/// Writes waiting for the next transaction at most; beyond it callers wait for room.
const QUEUE: usize = 1024;

/// How long changes that nobody waits for wait for others.
const GATHER: Duration = Duration::from_millis(5);

/// What a change came to.
pub(super) enum Written {
    /// It is in the file.
    New,
    /// The record was there before, with this answer.
    Earlier(Box<AnalysisResponse>),
    /// There was nothing to change.
    Nothing,
    /// What became of an application.
    Changed(Changed),
    /// The token as it is now, if there is one.
    Token(Option<Box<Token>>),
    /// The account concerned.
    Account(Box<Account>),
    /// So many records, or pages, are gone.
    Removed(u64),
    /// The ticket of a claim, unless the bytes are being removed.
    Ticket(Option<i64>),
    /// What became of a link.
    Attached(Attached),
    /// Bytes without a link.
    Hashes(Vec<BlobHash>),
    /// The tombstone that holds.
    Tombstone(Uuid),
    /// What one step of an erasure removed.
    Erased(Erased),
}

pub(super) type Outcome = Result<Written, StoreError>;

struct Job {
    write: Write,
    reply: oneshot::Sender<Outcome>,
    haste: Haste,
}

/// Whether somebody's answer waits for the change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    Awaited,
    None,
}

/// The way to the writer task.
pub(super) struct Writer {
    // None once the store closes.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the task on the calling runtime.
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let task = tokio::spawn(run(connection, queue));
        Self {
            jobs: Mutex::new(Some(jobs)),
            task: Mutex::new(Some(task)),
        }
    }

    /// Makes a change; returns once it is durable.
    pub(super) async fn write(&self, write: Write) -> Outcome {
        let outcome = self.queue(write, Haste::Awaited).await?;
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Queues a change, which may wait a little for others; its outcome comes once it is durable.
    pub(super) async fn begin(
        &self,
        write: Write,
    ) -> Result<oneshot::Receiver<Outcome>, StoreError> {
        self.queue(write, Haste::None).await
    }

    async fn queue(
        &self,
        write: Write,
        haste: Haste,
    ) -> Result<oneshot::Receiver<Outcome>, StoreError> {
        let jobs = self.sender().ok_or(StoreError::Closed)?;
        let (reply, outcome) = oneshot::channel();
        let job = Job {
            write,
            reply,
            haste,
        };
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        Ok(outcome)
    }

    /// Makes a change some time, unless the queue is full; never waits.
    pub(super) fn write_later(&self, write: Write) {
        if let Some(jobs) = self.sender() {
            let (reply, _) = oneshot::channel();
            // Full or closed: the caller accepts the loss.
            let haste = Haste::None;
            let _ = jobs.try_send(Job {
                write,
                reply,
                haste,
            });
        }
    }

    /// Lets the task write what is queued, and waits until the file is closed.
    pub(super) async fn stop(&self) {
        drop(
            self.jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task
            && task.await.is_err()
        {
            log::error!("the store's writer ended before its time");
        }
    }

    fn sender(&self) -> Option<mpsc::Sender<Job>> {
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Ends when every sender is gone and the queue is empty.
async fn run(mut connection: SqliteConnection, mut queue: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        gather(&mut batch, &mut queue).await;
        let (writes, replies): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|job| (job.write, job.reply)).unzip();
        let erases = writes.iter().any(|write| matches!(write, Write::Erase(_)));
        let outcomes = commit(&mut connection, writes).await;
        if erases {
            erasure::empty_log(&mut connection).await;
        }
        answer(replies, outcomes);
    }
    if let Err(error) = connection.close().await {
        log::error!("the database did not close cleanly: {error}");
    }
}

/// While nobody waits, each sync to disk is shared with what comes next.
async fn gather(batch: &mut Vec<Job>, queue: &mut mpsc::Receiver<Job>) {
    let end = Instant::now() + GATHER;
    while batch.len() < BATCH && batch.iter().all(|job| job.haste == Haste::None) {
        let room = BATCH - batch.len();
        match timeout_at(end, queue.recv_many(batch, room)).await {
            Ok(count) if count > 0 => {}
            _ => return,
        }
    }
}

/// A caller that left does not want its answer: a failed send is none of ours.
fn answer(replies: Vec<oneshot::Sender<Outcome>>, outcomes: Result<Vec<Outcome>, StoreError>) {
    match outcomes {
        Ok(outcomes) => {
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                let _ = reply.send(outcome);
            }
        }
        Err(error) => {
            for reply in replies {
                let _ = reply.send(Err(error.clone()));
            }
        }
    }
}

/// One transaction: first what is no record, in its order, then the records together. A change that
/// fails takes back itself only, so that one bad row does not cost the others their place; what takes
/// back everything shows at COMMIT.
async fn commit(
    connection: &mut SqliteConnection,
    writes: Vec<Write>,
) -> Result<Vec<Outcome>, StoreError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let mut others = Vec::new();
    let mut rows: Vec<NewRow> = Vec::with_capacity(writes.len());
    let mut is_record = Vec::with_capacity(writes.len());
    for write in writes {
        is_record.push(matches!(write, Write::Record(_)));
        match write {
            Write::Record(row) => rows.push(*row),
            other => others.push(apply(&mut transaction, other).await),
        }
    }
    let records = match rows.is_empty() {
        true => Vec::new(),
        false => insert::insert(&mut transaction, &rows).await?,
    };
    transaction.commit().await?;
    let (mut others, mut records) = (others.into_iter(), records.into_iter());
    let in_order = is_record.into_iter().filter_map(|record| match record {
        true => records.next(),
        false => others.next(),
    });
    Ok(in_order.collect())
}

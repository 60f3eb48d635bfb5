//! The one connection that writes. A task takes everything that is queued into one transaction, so that many
//! callers share one sync to disk (group commit), and answers them only after COMMIT. What a change does is a
//! closure over the transaction, which each subject brings along; only records are known here, because a
//! batch inserts them together.

use super::records::insert;
use super::writing_connection::WritingConnection;
use crate::error::StoreError;
use crate::records::Insertion;
use crate::sql::records::EncodedRecord;
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// The most writes in one transaction.
const BATCH: usize = 512;
/// The most writes that wait for the next transaction; beyond it callers wait for room.
const QUEUE: usize = 1024;
/// How long a batch that nobody waits for gathers further writes. Its records stay in the spool until they are
/// durable here, so that a longer wait risks none, and each transaction writes its pages once for more of them.
const GATHER: Duration = Duration::from_millis(50);

/// The future of one change.
pub(super) type Changing<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Receives the outcome of a write once it is durable.
pub(super) type Outcome<T> = oneshot::Receiver<Result<T, StoreError>>;

struct Job {
    write: Write,
    is_awaited: bool,
    /// Whether the write-ahead log holds what has to disappear: it is emptied after the commit.
    empties_log: bool,
}

impl Job {
    fn awaited(write: Write) -> Self {
        Self {
            write,
            is_awaited: true,
            empties_log: false,
        }
    }

    fn unawaited(write: Write) -> Self {
        Self {
            write,
            is_awaited: false,
            empties_log: false,
        }
    }
}

enum Write {
    Record(Box<EncodedRecord>, Reply<Insertion>),
    Change(Box<dyn Change>),
}

/// A change of anything but records.
trait Change: Send {
    /// Makes the change within a savepoint of the batch's transaction and keeps its outcome.
    ///
    /// # Errors
    /// When the savepoint failed, and with it the transaction.
    fn make<'c>(
        &'c mut self,
        connection: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, Result<(), StoreError>>;

    /// Sends the outcome, or the error that the whole batch failed with.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// A closure that has not run yet, or its outcome.
struct Pending<F, T> {
    change: Option<F>,
    outcome: Option<Result<T, StoreError>>,
    reply: Reply<T>,
}

impl<F, T> Change for Pending<F, T>
where
    T: Send,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, T> + Send,
{
    fn make<'c>(
        &'c mut self,
        connection: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(change) = self.change.take() {
                self.outcome = Some(in_savepoint(connection, change).await?);
            }
            Ok(())
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { outcome, reply, .. } = *self;
        let outcome = committed.and_then(|()| outcome.unwrap_or(Err(StoreError::Closed)));
        // A caller that left does not need its answer.
        let _ = reply.send(outcome);
    }
}

/// All of a change or nothing.
///
/// # Errors
/// When the savepoint failed: there is no transaction anymore.
async fn in_savepoint<T, F>(
    connection: &mut SqliteConnection,
    change: F,
) -> Result<Result<T, StoreError>, StoreError>
where
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, T>,
{
    let mut savepoint = connection.begin().await?;
    let outcome = change(&mut savepoint).await;
    match &outcome {
        Ok(_) => savepoint.commit().await?,
        Err(cause) => savepoint.rollback().await.map_err(|lost| match cause {
            // What SQLite rolled the whole transaction back for.
            StoreError::Unavailable(_) => cause.clone(),
            _ => lost.into(),
        })?,
    }
    Ok(outcome)
}

fn pending<T, F>(change: F) -> (Write, Outcome<T>)
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, T> + Send + 'static,
{
    let (reply, outcome) = oneshot::channel();
    let pending = Pending {
        change: Some(change),
        outcome: None,
        reply,
    };
    (Write::Change(Box::new(pending)), outcome)
}

/// Hands writes to the writer task.
pub(super) struct Writer {
    // None once the store closes.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the task on the calling runtime.
    pub(super) fn start(connection: WritingConnection) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let task = tokio::spawn(run(connection, queue));
        Self {
            jobs: Mutex::new(Some(jobs)),
            task: Mutex::new(Some(task)),
        }
    }

    /// Makes a change; returns its outcome once it is durable.
    pub(super) async fn write<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, T> + Send + 'static,
    {
        let (write, outcome) = pending(change);
        self.queue(Job::awaited(write)).await?;
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Makes a change, then empties the write-ahead log, which still holds what the change removed.
    pub(super) async fn write_and_empty_log<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, T> + Send + 'static,
    {
        let (write, outcome) = pending(change);
        let job = Job {
            empties_log: true,
            ..Job::awaited(write)
        };
        self.queue(job).await?;
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Makes a change at some time, unless the queue is full; never waits.
    pub(super) fn write_later<F>(&self, change: F)
    where
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, ()> + Send + 'static,
    {
        if let Some(jobs) = self.sender() {
            // Full or closed: the caller accepts the loss.
            let _ = jobs.try_send(Job::unawaited(pending(change).0));
        }
    }

    /// Inserts a record; returns once it is durable.
    pub(super) async fn insert(&self, record: EncodedRecord) -> Result<Insertion, StoreError> {
        let (reply, outcome) = oneshot::channel();
        let write = Write::Record(Box::new(record), reply);
        self.queue(Job::awaited(write)).await?;
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Queues a record, which may wait a little for others; its outcome comes once it is durable.
    pub(super) async fn begin_insert(
        &self,
        record: EncodedRecord,
    ) -> Result<Outcome<Insertion>, StoreError> {
        let (reply, outcome) = oneshot::channel();
        let write = Write::Record(Box::new(record), reply);
        self.queue(Job::unawaited(write)).await?;
        Ok(outcome)
    }

    async fn queue(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.sender().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)
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
            log::error!("the store's writer task ended unexpectedly");
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
async fn run(mut connection: WritingConnection, mut queue: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut jobs, BATCH).await > 0 {
        gather(&mut jobs, &mut queue).await;
        let empties_log = jobs.iter().any(|job| job.empties_log);
        let mut batch = Batch::of(jobs.drain(..));
        let committed = batch.commit(&mut connection).await;
        let has_failed = committed.is_err();
        if empties_log && !has_failed {
            empty_log(&mut connection).await;
        }
        batch.answer(committed);
        match has_failed {
            true => connection.replace().await,
            false => connection.note_success(),
        }
    }
    if let Err(error) = connection.close().await {
        log::error!("the database did not close cleanly: {error}");
    }
}

/// While nobody waits, each sync to disk is shared with what comes next.
async fn gather(jobs: &mut Vec<Job>, queue: &mut mpsc::Receiver<Job>) {
    let end = Instant::now() + GATHER;
    while jobs.len() < BATCH && !jobs.iter().any(|job| job.is_awaited) {
        let room = BATCH - jobs.len();
        match timeout_at(end, queue.recv_many(jobs, room)).await {
            Ok(count) if count > 0 => {}
            _ => return,
        }
    }
}

/// Copies the log into the file and empties it. Best effort: a reader may be in the way; later records
/// overwrite the log then.
async fn empty_log(connection: &mut WritingConnection) {
    if let Ok(connection) = connection.get().await {
        let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
        let _ = emptied.fetch_all(connection).await;
    }
}

/// The writes of one transaction.
struct Batch {
    changes: Vec<Box<dyn Change>>,
    records: Vec<EncodedRecord>,
    replies: Vec<Reply<Insertion>>,
}

impl Batch {
    fn of(jobs: impl Iterator<Item = Job>) -> Self {
        let (mut changes, mut records, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        for job in jobs {
            match job.write {
                Write::Change(change) => changes.push(change),
                Write::Record(record, reply) => {
                    records.push(*record);
                    replies.push(reply);
                }
            }
        }
        Self {
            changes,
            records,
            replies,
        }
    }

    /// One transaction: first the changes in their order, then the records together. A change or a record that
    /// fails undoes only itself, unless SQLite rolls back the whole transaction for it (a full disk, an input or
    /// output error): then the batch ends, and nothing of it is kept. Returns the records' outcomes.
    async fn commit(
        &mut self,
        connection: &mut WritingConnection,
    ) -> Result<Vec<Result<Insertion, StoreError>>, StoreError> {
        let gate = connection.gate();
        gate.close();
        let connection = connection.get().await?;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        for change in &mut self.changes {
            change.make(&mut transaction).await?;
        }
        let inserted = match self.records.is_empty() {
            true => Vec::new(),
            false => insert::insert(&mut transaction, &self.records).await?,
        };
        gate.open();
        let committed = transaction.commit().await;
        gate.close();
        Ok(committed.map(|()| inserted)?)
    }

    fn answer(self, committed: Result<Vec<Result<Insertion, StoreError>>, StoreError>) {
        let whole = committed.as_ref().map(drop).map_err(StoreError::clone);
        for change in self.changes {
            change.answer(whole.clone());
        }
        let mut inserted = committed.map(Vec::into_iter);
        for reply in self.replies {
            let outcome = match &mut inserted {
                Ok(inserted) => inserted.next().unwrap_or(Err(StoreError::Closed)),
                Err(error) => Err(error.clone()),
            };
            // A caller that left does not need its answer.
            let _ = reply.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests;

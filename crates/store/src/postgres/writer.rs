//! Group commit: tasks take what is queued into one transaction, so that many callers share one sync to disk.
//! There are two of them, so that one prepares its batch while the other one commits. Each has a connection of
//! its own, and opens a new one whenever the state of the old one is uncertain.

use super::connect::Connector;
use super::records::batch::{self, Inserted};
use super::records::failure::Failure;
use super::records::row::RecordRow;
use super::settings::note_uses;
use super::statistics::counter_lanes::CounterLanes;
use crate::error::{StoreError, is_conflict};
use crate::records::Insertion;
use crate::settings::token_id::TokenId;
use crate::sql::reused_id::stored_apart;
use sqlx::PgConnection;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

/// The most records in one transaction, and the bytes of their texts after which it takes no more.
const BATCH: usize = 256;
const BATCH_BYTES: i64 = 16 << 20;
/// The most records that wait for the next transaction; beyond it callers wait for room.
const QUEUE: usize = 1024;
/// Writing tasks, and so concurrent batches. Each counts in a lane of its own.
const WRITERS: u8 = 2;
/// The longest time for one batch, and for a record from the queue to its answer.
const BATCH_TIMEOUT: Duration = Duration::from_secs(8);
const RECORD_TIMEOUT: Duration = Duration::from_secs(15);
/// Attempts to write one batch while other writers conflict with it.
const ATTEMPTS: u32 = 4;
/// By how many milliseconds a record may be shifted to find a free position.
const MAX_SHIFT_MS: i64 = 64;
/// The most uses of tokens that wait to be noted.
const TOUCHES: usize = 4096;

type Outcome = Result<Insertion, StoreError>;

enum Job {
    Record(Box<RecordRow>, oneshot::Sender<Outcome>),
    /// There are uses of tokens to note.
    Touches,
}

type Batch = Vec<(RecordRow, oneshot::Sender<Outcome>)>;

/// Hands records to the writing tasks.
pub(super) struct Writer {
    // None once the store closes.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    touches: Arc<Mutex<BTreeMap<Uuid, i64>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the tasks on the calling runtime.
    pub(super) fn start(connector: &Connector, lanes: &Arc<CounterLanes>) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let queue = Arc::new(AsyncMutex::new(queue));
        let touches = Arc::new(Mutex::default());
        let writer = |index: u8| BatchWriter {
            connector: connector.clone(),
            connection: None,
            index,
            lanes: lanes.clone(),
            queue: queue.clone(),
            touches: Arc::clone(&touches),
        };
        let tasks = (0..WRITERS).map(|index| tokio::spawn(writer(index).run()));
        Self {
            jobs: Mutex::new(Some(jobs)),
            tasks: Mutex::new(tasks.collect()),
            touches,
        }
    }

    /// Inserts a record; returns once it is durable, with the earlier record if there is one.
    pub(super) async fn insert(&self, row: RecordRow) -> Outcome {
        let jobs = self.sender().ok_or(StoreError::Closed)?;
        let inserted = async {
            let (reply, outcome) = oneshot::channel();
            let sent = jobs.send(Job::Record(Box::new(row), reply)).await;
            drop(jobs);
            sent.map_err(|_| StoreError::Closed)?;
            outcome.await.map_err(|_| StoreError::Closed)?
        };
        match timeout(RECORD_TIMEOUT, inserted).await {
            Ok(outcome) => outcome,
            Err(_) => Err(no_answer(RECORD_TIMEOUT)),
        }
    }

    /// Notes the use of a token at some time, unless too many are waiting.
    pub(super) fn touch(&self, id: TokenId, used_at_ms: i64) {
        let mut touches = lock(&self.touches);
        if touches.len() < TOUCHES || touches.contains_key(&id.0) {
            let at = touches.entry(id.0).or_insert(used_at_ms);
            *at = used_at_ms.max(*at);
        }
        if let Some(jobs) = self.sender() {
            // If the queue is full, the tasks are busy and note the uses after their batch.
            let _ = jobs.try_send(Job::Touches);
        }
    }

    /// Lets the tasks write what is queued, and waits for their end.
    pub(super) async fn stop(&self) {
        drop(lock(&self.jobs).take());
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        for task in tasks {
            if task.await.is_err() {
                log::error!("a writer task of the store ended unexpectedly");
            }
        }
    }

    fn sender(&self) -> Option<mpsc::Sender<Job>> {
        lock(&self.jobs).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_answer(limit: Duration) -> StoreError {
    StoreError::Unavailable(format!("no answer within {limit:?}"))
}

/// One writing task.
struct BatchWriter {
    connector: Connector,
    connection: Option<PgConnection>,
    /// Which of the writers it is.
    index: u8,
    lanes: Arc<CounterLanes>,
    queue: Arc<AsyncMutex<mpsc::Receiver<Job>>>,
    touches: Arc<Mutex<BTreeMap<Uuid, i64>>>,
}

impl BatchWriter {
    /// Ends when every sender is gone and the queue is empty.
    async fn run(mut self) {
        loop {
            let Some(batch) = take(&mut *self.queue.lock().await).await else {
                break;
            };
            let (rows, replies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let outcomes = self.insert_all(rows).await;
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                // A caller that left does not need its answer.
                let _ = reply.send(outcome);
            }
            self.note_touches().await;
        }
        if let Some(connection) = self.connection {
            use sqlx::Connection as _;
            let _ = timeout(BATCH_TIMEOUT, connection.close()).await;
        }
    }

    /// Splits a refused batch in halves until the faulty row is alone, so that it affects only itself.
    async fn insert_all(&mut self, mut rows: Vec<RecordRow>) -> Vec<Outcome> {
        let mut outcomes: Vec<Option<Outcome>> = rows.iter().map(|_| None).collect();
        let mut parts = Vec::from_iter((!rows.is_empty()).then_some(0..rows.len()));
        while let Some(part) = parts.pop() {
            let inserted = self.insert_part(&rows[part.clone()]).await;
            match inserted {
                Ok(inserted) => settle(inserted, &mut outcomes[part]),
                Err(Refusal::OfRows(_)) if part.len() > 1 => {
                    let middle = part.start + part.len() / 2;
                    // The first half is next: of two records of one exchange the first one stays the first.
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                }
                Err(Refusal::OfRows(refusal)) => {
                    let row = &mut rows[part.start];
                    match refusal.is_taken && row.shift_ms < MAX_SHIFT_MS {
                        true => {
                            row.shift_ms += 1;
                            parts.push(part);
                        }
                        false => outcomes[part.start] = Some(Err(refusal.error)),
                    }
                }
                Err(Refusal::OfAll(error)) => {
                    outcomes[part].fill_with(|| Some(Err(error.clone())));
                }
            }
        }
        let lost = || Err(StoreError::Unavailable("the record was not stored".into()));
        let settled = outcomes.into_iter();
        settled
            .map(|outcome| outcome.unwrap_or_else(lost))
            .collect()
    }

    async fn insert_part(&mut self, rows: &[RecordRow]) -> Result<Vec<Inserted>, Refusal> {
        let rows: Vec<&RecordRow> = rows.iter().collect();
        for attempt in 1.. {
            let is_new = self.connection.is_none();
            let failure = match self.try_once(&rows).await {
                Ok(inserted) => return Ok(inserted),
                Err(failure) => failure,
            };
            match failure {
                Failure::Again if attempt < ATTEMPTS => {}
                Failure::Before(error) if is_conflict(&error) && attempt < ATTEMPTS => {}
                Failure::Before(error) if is_fault_of_rows(&error) => {
                    return Err(Refusal::of_rows(error));
                }
                Failure::Before(error) => {
                    self.connection = None;
                    // A connection that was lost while it was idle says nothing about the server.
                    if is_new || attempt > 1 {
                        return Err(Refusal::OfAll(error.into()));
                    }
                }
                Failure::AtCommit(error) => {
                    self.connection = None;
                    return Err(Refusal::OfAll(error.into()));
                }
                Failure::Store(error) => return Err(Refusal::OfAll(error)),
                Failure::Again => break,
            }
        }
        let text = "conflicts with other writers".to_owned();
        Err(Refusal::OfAll(StoreError::Unavailable(text)))
    }

    /// After a timeout the connection has an answer pending; it is dropped.
    async fn try_once(&mut self, rows: &[&RecordRow]) -> Result<Vec<Inserted>, Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connector.connect().await.map_err(Failure::Store)?,
        };
        let lane = self.lanes.of_writer(self.index);
        let inserted = batch::insert(&mut connection, rows, lane);
        match timeout(BATCH_TIMEOUT, inserted).await {
            Ok(inserted) => {
                self.connection = Some(connection);
                inserted
            }
            Err(_) => Err(Failure::Store(no_answer(BATCH_TIMEOUT))),
        }
    }

    /// A failure loses the notes; they are only displayed.
    async fn note_touches(&mut self) {
        let touches = std::mem::take(&mut *lock(&self.touches));
        if touches.is_empty() {
            return;
        }
        let touches: Vec<_> = touches.into_iter().collect();
        let noted = async {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.connector.connect().await?,
            };
            note_uses(&mut connection, &touches).await?;
            Ok::<_, StoreError>(connection)
        };
        if let Ok(Ok(connection)) = timeout(BATCH_TIMEOUT, noted).await {
            self.connection = Some(connection);
        }
    }
}

/// Waits for a job and takes what else is queued, within the limits of a batch. None once the queue is empty and
/// closed for good.
async fn take(queue: &mut mpsc::Receiver<Job>) -> Option<Batch> {
    let mut next = queue.recv().await;
    next.as_ref()?;
    let (mut batch, mut bytes) = (Batch::new(), 0);
    while let Some(job) = next {
        if let Job::Record(row, reply) = job {
            bytes += row.bytes;
            batch.push((*row, reply));
        }
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            break;
        }
        next = queue.try_recv().ok();
    }
    Some(batch)
}

/// Turns the outcome of each row into the answer to its caller.
fn settle(inserted: Vec<Inserted>, outcomes: &mut [Option<Outcome>]) {
    for (inserted, outcome) in inserted.into_iter().zip(outcomes) {
        *outcome = Some(match inserted {
            Inserted::New => Ok(Insertion::New),
            Inserted::Apart => Ok(Insertion::Apart(stored_apart())),
            Inserted::Earlier(earlier) => Ok(Insertion::Earlier(earlier)),
            Inserted::Erased => Err(StoreError::Erased),
            Inserted::NoApplication => Err(StoreError::NoApplication),
            Inserted::IdTaken => {
                let text = "a record with this identifier exists".to_owned();
                Err(StoreError::Unavailable(text))
            }
        });
    }
}

/// Why a batch was not stored.
enum Refusal {
    /// At least one of its rows is faulty.
    OfRows(RowRefusal),
    /// The failure concerns every row alike.
    OfAll(StoreError),
}

struct RowRefusal {
    /// The position or the identifier of the record is taken.
    is_taken: bool,
    error: StoreError,
}

impl Refusal {
    fn of_rows(error: sqlx::Error) -> Self {
        let is_taken = code(&error).is_some_and(|code| code == "23505");
        Self::OfRows(RowRefusal {
            is_taken,
            // The message of the database may quote the row.
            error: StoreError::Unavailable("the database refuses the record".into()),
        })
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Invalid data, a violated constraint, or a value that is too large.
fn is_fault_of_rows(error: &sqlx::Error) -> bool {
    let of_rows = |code: String| {
        ["22", "23", "54"]
            .iter()
            .any(|class| code.starts_with(class))
    };
    matches!(error, sqlx::Error::Encode(_)) || code(error).is_some_and(of_rows)
}

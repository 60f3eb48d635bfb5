//! Group commit: tasks that take what is queued into one transaction, so that many callers share one
//! sync to disk. Two of them, so that one batch is put together while the other one commits. Each has
//! a connection of its own and makes a new one whenever the old one is not known to be good.

use super::batch::{self, Failure, Kept};
use super::connect::Connector;
use super::row::Row;
use crate::{StoreError, TokenId};
use monitor_model::AnalysisResponse;
use sqlx::PgConnection;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

/// Records in one transaction at most, and the bytes of their texts beyond which it takes no more.
const BATCH: usize = 256;
const BATCH_BYTES: i64 = 16 << 20;
/// Records waiting for the next transaction at most; beyond it callers wait for room.
const QUEUE: usize = 1024;
/// Batches under way at once.
const LANES: u8 = 2;
/// Lanes of the statistics; servers choose theirs by chance.
const STATISTICS_LANES: u8 = 32;
/// Longest time for one batch, and for a record from the queue to its answer.
const BATCH_LIMIT: Duration = Duration::from_secs(8);
const RECORD_LIMIT: Duration = Duration::from_secs(15);
/// Tries of one batch while others are in its way.
const TRIES: u32 = 4;
/// Milliseconds after its time in which a record may find a place of its own.
const SHIFTS: i64 = 64;
/// Uses of tokens that wait to be noted, at most.
const TOUCHES: usize = 4096;

type Outcome = Result<Option<Box<AnalysisResponse>>, StoreError>;

enum Job {
    Record(Box<Row>, oneshot::Sender<Outcome>),
    /// There are uses of tokens to note.
    Touches,
}

type Batch = Vec<(Row, oneshot::Sender<Outcome>)>;

/// The way to the writing tasks.
pub(super) struct Writer {
    // None once the store closes.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    touches: Arc<Mutex<BTreeMap<Uuid, i64>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the tasks on the calling runtime.
    pub(super) fn start(connector: &Connector) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let queue = Arc::new(AsyncMutex::new(queue));
        let touches = Arc::new(Mutex::default());
        let [chance, ..] = *Uuid::new_v4().as_bytes();
        let lane = |index: u8| Lane {
            connector: connector.clone(),
            connection: None,
            number: i16::from((chance % (STATISTICS_LANES / LANES)) * LANES + index),
            queue: queue.clone(),
            touches: Arc::clone(&touches),
        };
        Self {
            jobs: Mutex::new(Some(jobs)),
            tasks: Mutex::new((0..LANES).map(|i| tokio::spawn(lane(i).run())).collect()),
            touches,
        }
    }

    /// Keeps a record; returns once it is durable, with the answer of an earlier one if there was one.
    pub(super) async fn keep(&self, row: Row) -> Outcome {
        let jobs = self.sender().ok_or(StoreError::Closed)?;
        let kept = async {
            let (reply, outcome) = oneshot::channel();
            let sent = jobs.send(Job::Record(Box::new(row), reply)).await;
            drop(jobs);
            sent.map_err(|_| StoreError::Closed)?;
            outcome.await.map_err(|_| StoreError::Closed)?
        };
        match timeout(RECORD_LIMIT, kept).await {
            Ok(outcome) => outcome,
            Err(_) => Err(no_answer(RECORD_LIMIT)),
        }
    }

    /// Notes the use of a token some time, unless too many wait.
    pub(super) fn touch(&self, id: TokenId, used_at_ms: i64) {
        let mut touches = lock(&self.touches);
        if touches.len() < TOUCHES || touches.contains_key(&id.0) {
            let at = touches.entry(id.0).or_insert(used_at_ms);
            *at = used_at_ms.max(*at);
        }
        if let Some(jobs) = self.sender() {
            // Where there is no room, the tasks have work and come by in any case.
            let _ = jobs.try_send(Job::Touches);
        }
    }

    /// Lets the tasks write what is queued, and waits for their end.
    pub(super) async fn stop(&self) {
        drop(lock(&self.jobs).take());
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        for task in tasks {
            if task.await.is_err() {
                log::error!("a writer of the store ended before its time");
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
struct Lane {
    connector: Connector,
    connection: Option<PgConnection>,
    number: i16,
    queue: Arc<AsyncMutex<mpsc::Receiver<Job>>>,
    touches: Arc<Mutex<BTreeMap<Uuid, i64>>>,
}

impl Lane {
    /// Ends when every sender is gone and the queue is empty.
    async fn run(mut self) {
        loop {
            let Some(batch) = take(&mut *self.queue.lock().await).await else {
                break;
            };
            let (rows, replies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let outcomes = self.keep_all(rows).await;
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                // A caller that left does not want its answer.
                let _ = reply.send(outcome);
            }
            self.note_touches().await;
        }
        if let Some(connection) = self.connection {
            use sqlx::Connection as _;
            let _ = timeout(BATCH_LIMIT, connection.close()).await;
        }
    }

    /// Halves what is refused until the row at fault stands alone, so that it costs only itself.
    async fn keep_all(&mut self, mut rows: Vec<Row>) -> Vec<Outcome> {
        let mut outcomes: Vec<Option<Outcome>> = rows.iter().map(|_| None).collect();
        let mut parts = Vec::from_iter((!rows.is_empty()).then_some(0..rows.len()));
        while let Some(part) = parts.pop() {
            let kept = self.keep_part(&rows[part.clone()]).await;
            match kept {
                Ok(fates) => settle(&rows[part.clone()], fates, &mut outcomes[part]),
                Err(Refusal::OfRows(_)) if part.len() > 1 => {
                    let middle = part.start + part.len() / 2;
                    // The first half is next, so that of two with one exchange the first one stays it.
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                }
                Err(Refusal::OfRows(refusal)) => {
                    let row = &mut rows[part.start];
                    match refusal.taken && row.shift_ms < SHIFTS {
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
        let lost = || Err(StoreError::Unavailable("the record was not kept".into()));
        let settled = outcomes.into_iter();
        settled
            .map(|outcome| outcome.unwrap_or_else(lost))
            .collect()
    }

    async fn keep_part(&mut self, rows: &[Row]) -> Result<Vec<Kept>, Refusal> {
        let rows: Vec<&Row> = rows.iter().collect();
        for tried in 1.. {
            let fresh = self.connection.is_none();
            let failure = match self.try_once(&rows).await {
                Ok(kept) => return Ok(kept),
                Err(failure) => failure,
            };
            match failure {
                Failure::Again if tried < TRIES => {}
                Failure::Before(error) if is_in_the_way(&error) && tried < TRIES => {}
                Failure::Before(error) if is_of_rows(&error) => {
                    return Err(Refusal::of_rows(error));
                }
                Failure::Before(error) => {
                    self.connection = None;
                    // A connection that was lost while it stood idle says nothing of the server.
                    if fresh || tried > 1 {
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
        let text = "other writers are in the way".to_owned();
        Err(Refusal::OfAll(StoreError::Unavailable(text)))
    }

    /// A connection that a limit cut off stands between two answers and is given up.
    async fn try_once(&mut self, rows: &[&Row]) -> Result<Vec<Kept>, Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connector.connect().await.map_err(Failure::Store)?,
        };
        match timeout(BATCH_LIMIT, batch::keep(&mut connection, rows, self.number)).await {
            Ok(kept) => {
                self.connection = Some(connection);
                kept
            }
            Err(_) => Err(Failure::Store(no_answer(BATCH_LIMIT))),
        }
    }

    /// May be lost: what it notes is for people to look at.
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
            super::tokens::note_uses(&mut connection, &touches).await?;
            Ok::<_, StoreError>(connection)
        };
        if let Ok(Ok(connection)) = timeout(BATCH_LIMIT, noted).await {
            self.connection = Some(connection);
        }
    }
}

/// Waits for a job, and takes what else is there, within the bounds of a batch. None when there will
/// be no more.
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

fn settle(rows: &[Row], fates: Vec<Kept>, outcomes: &mut [Option<Outcome>]) {
    let mut first = HashMap::new();
    for ((row, fate), outcome) in rows.iter().zip(fates).zip(outcomes) {
        *outcome = Some(match fate {
            Kept::New => {
                first.insert(row.key, row);
                Ok(None)
            }
            Kept::Earlier(answer) => Ok(Some(answer)),
            Kept::Erased => Err(StoreError::Erased),
            Kept::NoApplication => Err(StoreError::Unavailable("no such application".into())),
            Kept::Taken => {
                let text = "there is a record of this identifier".to_owned();
                Err(StoreError::Unavailable(text))
            }
            Kept::TwinOf(key) => match first.get(&key) {
                Some(twin) => twin.whole_answer().map(|answer| Some(Box::new(answer))),
                None => Err(StoreError::Unavailable("the record was not kept".into())),
            },
        });
    }
}

/// What a batch came to that was not kept.
enum Refusal {
    /// Some of its rows are at fault.
    OfRows(RowRefusal),
    /// No row is at fault.
    OfAll(StoreError),
}

struct RowRefusal {
    /// The record's place is another one's.
    taken: bool,
    error: StoreError,
}

impl Refusal {
    fn of_rows(error: sqlx::Error) -> Self {
        let taken = code(&error).is_some_and(|code| code == "23505");
        Self::OfRows(RowRefusal {
            taken,
            // The database's own words may quote the row.
            error: StoreError::Unavailable("the database refuses the record".into()),
        })
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Deadlock, serialisation, or a lock that was waited for in vain.
fn is_in_the_way(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| ["40001", "40P01", "55P03"].contains(&code.as_str()))
}

/// Wrong data, a broken constraint, or something too large.
fn is_of_rows(error: &sqlx::Error) -> bool {
    let of_rows = |code: String| {
        ["22", "23", "54"]
            .iter()
            .any(|class| code.starts_with(class))
    };
    matches!(error, sqlx::Error::Encode(_)) || code(error).is_some_and(of_rows)
}

//! Attached files of records that the backend has stored, on their way to the task that sends them. A
//! record stays in the spool until all its files are done with. The lists take at most half of the spool's
//! memory.

use crate::backend::{FileList, RecordContext};
use monitor_model::RecordId;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

/// How long a record waits for memory that other records' files take.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long no record waits after such a wait was in vain: slow files must not delay records.
const RESPITE: Duration = Duration::from_secs(30);

/// The attached files of one record that the backend has. Dropped before [`PendingAttachments::done`],
/// they stay pending, and the next start sends them.
pub struct PendingAttachments {
    /// What the call listed.
    pub list: Arc<FileList>,
    /// The exchange, whose access key the files are sent with.
    pub context: Arc<RecordContext>,
    /// The record the files belong to.
    pub record: RecordId,
    done: oneshot::Sender<()>,
    permit: OwnedSemaphorePermit,
}

impl PendingAttachments {
    /// Every file has been sent or given up.
    pub fn done(self) {
        drop(self.permit);
        // The spool may have ended before.
        let _ = self.done.send(());
    }
}

/// What has to be sent for one record.
pub(crate) struct AttachmentsOf {
    pub(crate) list: Arc<FileList>,
    pub(crate) context: Arc<RecordContext>,
    pub(crate) record: RecordId,
    /// Bytes that the list counts for.
    pub(crate) weight: u64,
}

/// The spool's end of the queue.
pub(crate) struct AttachmentQueue {
    sender: mpsc::UnboundedSender<PendingAttachments>,
    memory: Arc<Semaphore>,
    max_bytes: u32,
    /// When a record last waited for memory in vain.
    last_in_vain: Mutex<Option<Instant>>,
}

impl AttachmentQueue {
    /// A queue for lists of so many bytes together.
    pub(crate) fn new(max_bytes: u64) -> (Self, mpsc::UnboundedReceiver<PendingAttachments>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let max_bytes = u32::try_from(max_bytes).unwrap_or(u32::MAX).max(1);
        let queue = Self {
            sender,
            memory: Arc::new(Semaphore::new(max_bytes as usize)),
            max_bytes,
            last_in_vain: Mutex::default(),
        };
        (queue, receiver)
    }

    /// Hands the files over. The result resolves when they are done with, which never happens if they are
    /// abandoned because the process ends. None if there is no memory, or no task that sends files.
    pub(crate) async fn hand_over(&self, files: AttachmentsOf) -> Option<oneshot::Receiver<()>> {
        let permit = self.reserve(files.weight).await?;
        let (done, ended) = oneshot::channel();
        let pending = PendingAttachments {
            list: files.list,
            context: files.context,
            record: files.record,
            done,
            permit,
        };
        self.sender.send(pending).ok().map(|()| ended)
    }

    async fn reserve(&self, weight: u64) -> Option<OwnedSemaphorePermit> {
        let weight = u32::try_from(weight)
            .unwrap_or(u32::MAX)
            .min(self.max_bytes);
        if let Ok(permit) = self.memory.clone().try_acquire_many_owned(weight) {
            return Some(permit);
        }
        let last = self.last_in_vain();
        if last.is_some_and(|at| at.elapsed() < RESPITE) {
            return None;
        }
        let permit = self.memory.clone().acquire_many_owned(weight);
        let permit = tokio::time::timeout(PATIENCE, permit).await;
        if permit.is_err() {
            *self
                .last_in_vain
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        permit.ok()?.ok()
    }

    fn last_in_vain(&self) -> Option<Instant> {
        *self
            .last_in_vain
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

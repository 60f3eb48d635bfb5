//! Files of records that the backend has, on their way to whoever handles them. Their entry stays in
//! the spool until they have come to their ends, and they take at most half of its memory.

use crate::backend::{FileList, RecordContext};
use monitor_model::RecordId;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// How long a record waits for the files of others to make room.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long nobody waits after that was in vain: slow files must not hold up records.
const RESPITE: Duration = Duration::from_secs(30);

/// The files of one record that the backend has. Dropped before [`PendingAttachments::done`] they stay owed:
/// the next start hands them over again.
pub struct PendingAttachments {
    /// What the call listed.
    pub list: Arc<FileList>,
    /// Whose key the files are sent with.
    pub context: Arc<RecordContext>,
    /// The record they belong to.
    pub record: RecordId,
    done: oneshot::Sender<()>,
    room: OwnedSemaphorePermit,
}

impl PendingAttachments {
    /// Each file has come to its end, good or bad.
    pub fn done(self) {
        drop(self.room);
        // The spool may have ended before.
        let _ = self.done.send(());
    }
}

/// The spool's end.
pub(super) struct Owing {
    sender: mpsc::UnboundedSender<PendingAttachments>,
    room: Arc<Semaphore>,
    size: u32,
    in_vain: Mutex<Option<Instant>>,
}

impl Owing {
    /// With room for lists of so many bytes together.
    pub(super) fn new(bytes: u64) -> (Self, mpsc::UnboundedReceiver<PendingAttachments>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let size = u32::try_from(bytes).unwrap_or(u32::MAX).max(1);
        let owing = Self {
            sender,
            room: Arc::new(Semaphore::new(size as usize)),
            size,
            in_vain: Mutex::default(),
        };
        (owing, receiver)
    }

    /// Hands the files of an item of that weight over. Gives what ends when they are done, which is never where they are
    /// given up because the process ends; None where there is no room, or nobody who handles files.
    pub(super) async fn hand_over(
        &self,
        weight: u64,
        (list, context): (Arc<FileList>, Arc<RecordContext>),
        record: RecordId,
    ) -> Option<oneshot::Receiver<()>> {
        let room = self.make_room(weight).await?;
        let (done, ended) = oneshot::channel();
        let owed = PendingAttachments {
            list,
            context,
            record,
            done,
            room,
        };
        self.sender.send(owed).ok().map(|()| ended)
    }

    async fn make_room(&self, weight: u64) -> Option<OwnedSemaphorePermit> {
        let weight = u32::try_from(weight).unwrap_or(u32::MAX).min(self.size);
        if let Ok(room) = self.room.clone().try_acquire_many_owned(weight) {
            return Some(room);
        }
        if self
            .latest_in_vain()
            .is_some_and(|at| at.elapsed() < RESPITE)
        {
            return None;
        }
        let room = self.room.clone().acquire_many_owned(weight);
        let room = tokio::time::timeout(PATIENCE, room).await;
        if room.is_err() {
            *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        room.ok()?.ok()
    }

    fn latest_in_vain(&self) -> Option<Instant> {
        *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

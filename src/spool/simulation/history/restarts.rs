//! How the processes of a history end and start: in order, killed, by a power failure, in another folder, with another
//! key, after version 4.1.

use super::{FOLDERS, History, PACE, Process};
use crate::config::key_file::FileKey;
use crate::spool::chain_file::{self, WrittenUpTo};
use crate::spool::disk::{self, simulated};
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::tests::in_first_format;
use crate::spool::recovery::{self, takeover};
use crate::spool::witness;
use crate::spool::writer::Round;
use crate::spool::{Spool, segment};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

impl History {
    /// A process of version 4.1 is killed with records on disk.
    pub(super) async fn run_version_4_1(&mut self) {
        let mut process = self.open().await;
        self.push(&process);
        self.push(&process);
        self.round(&mut process);
        process.delivery.abort();
        let _ = process.delivery.await;
        self.waiting.clear();
        for id in recovery::segments(&self.folder).unwrap() {
            let path = segment::path(&self.folder, id);
            let bytes = in_first_format(contents(&path));
            disk::remove(&path).unwrap();
            let mut file = disk::create_new(&path).unwrap();
            file.write_all(&bytes).unwrap();
            file.sync().unwrap();
        }
        disk::sync_folder(&self.folder).unwrap();
        self.tell("version 4.1 was killed");
    }

    /// The next process gets a folder of its own, now and then, and takes over what is left in this one.
    fn may_hand_over(&mut self) {
        if self.chance.once_in(4) && self.left.is_none() {
            let mut others = FOLDERS.map(PathBuf::from).into_iter();
            let next = others.find(|other| *other != self.folder).unwrap();
            self.tell(format!("the next process is in {}", next.display()));
            self.folder = next;
        }
    }

    /// A start looks for what is left in the folders beside its own: the power may have brought files back.
    fn find_left(&mut self) {
        let other = FOLDERS.map(Path::new).into_iter();
        let other = other.filter(|other| *other != self.folder);
        self.left = other
            .filter(|other| simulated::has_files(other))
            .map(Path::to_owned)
            .next();
    }

    /// The next process has another key, or none, and knows those before.
    fn may_change_key(&mut self) {
        if !self.is_encrypted || self.chance.once_in(2) {
            return;
        }
        let older: Vec<_> = self.keys.all().cloned().collect();
        let byte = u8::try_from(older.len() + 1).unwrap_or(u8::MAX);
        let current = (!self.chance.once_in(5)).then(|| FileKey::of(byte).into());
        let name = if current.is_some() { "another" } else { "no" };
        self.tell(format!("{name} key is used"));
        self.keys = Arc::new(Keyring::new(current, older));
    }

    pub(super) fn take_over(&mut self) {
        let Some(left) = &self.left else {
            return;
        };
        witness::enter(left);
        let taken = takeover::take_over(
            left,
            &self.spool_folder(),
            &mut takeover::MovedSegments::default(),
            &self.metrics,
        );
        witness::enter(&self.folder);
        self.told.push(format!("taken over: {taken:?}"));
        if taken.is_ok() {
            self.left = None;
        }
    }

    pub(super) async fn crash(&mut self, process: Process) -> Process {
        let Process {
            spool,
            writer,
            delivery,
            leases,
        } = process;
        delivery.abort();
        let _ = delivery.await;
        // Nobody is left to say that these are lost; `GET /chain` shows their numbers.
        self.unsaid += spool.core.lock().figures(0).only_in_memory;
        // Nothing of them reaches the disk or the backend any more.
        drop((leases, spool, writer));
        self.waiting.clear();
        match self.chance.once_in(2) {
            true => {
                self.tell("the power fails");
                self.power_failures += 1;
                self.forget_doubtful();
                let chains = FOLDERS.map(|folder| Path::new(folder).join(chain_file::FILE_NAME));
                let are_synced = chains.iter().all(|chain| simulated::is_synced(chain));
                simulated::fail_power();
                if !are_synced {
                    self.forget_unnoted();
                    self.may_lose_gateway = true;
                }
            }
            false => self.tell("the process is killed"),
        }
        self.may_hand_over();
        self.open().await
    }

    /// What only a lie had put on disk may be gone with the power, and is not promised any more.
    fn forget_doubtful(&mut self) {
        let files = simulated::doubtful_files();
        for (key, of) in std::mem::take(&mut self.doubtful) {
            if of.iter().any(|file| files.contains_key(file)) {
                self.promised.remove(&key);
            }
        }
        let is_letters = |path: &PathBuf| path.to_string_lossy().contains("dead.");
        if files.values().any(is_letters) {
            let backend = &self.backend;
            self.promised.retain(|key| !backend.refuses(key.0));
        }
        let is_incoming = |path: &PathBuf| path.to_string_lossy().contains("incoming");
        if files.values().any(is_incoming) {
            let put_back = witness::put_back();
            self.promised.retain(|key| !put_back.contains(key));
        }
    }

    /// How far the segments were written is noted without a sync, which follows within a second. If the power fails
    /// before, a sector that is lost at the end of a segment that is not noted as synced looks like an interrupted write.
    pub(super) fn forget_unnoted(&mut self) {
        // The checker looks at the disk itself, whatever it refuses to processes.
        let faults = simulated::faults();
        simulated::set_faults(|it| *it = Default::default());
        let synced = |folder: &Path| WrittenUpTo::of_folder(folder).unwrap_or_default();
        let newest = witness::in_newest_segments(simulated::outlives_power, synced);
        simulated::set_faults(|it| *it = faults);
        self.unnoted.extend(newest);
    }

    pub(super) async fn restart(&mut self, mut process: Process) -> Process {
        self.tell("the process ends in order");
        process.leases.clear();
        process.spool.core.lock().close();
        loop {
            tokio::time::sleep(PACE).await;
            if self.round(&mut process) == Round::Last {
                break;
            }
        }
        // A stop waits for the workers only so long.
        let delivery = &mut process.delivery;
        if tokio::time::timeout(Duration::from_secs(30), &mut *delivery)
            .await
            .is_err()
        {
            delivery.abort();
            let _ = delivery.await;
        }
        drop(process);
        self.waiting.clear();
        self.may_hand_over();
        self.open().await
    }

    pub(super) async fn open(&mut self) -> Process {
        self.may_change_key();
        self.find_left();
        witness::enter(&self.folder);
        loop {
            let backend = self.backend.clone();
            let metrics = self.metrics.clone();
            match Spool::assemble(&self.spool_folder(), self.bounds, backend, metrics) {
                Ok((spool, delivery, writer)) => {
                    return Process {
                        spool,
                        writer,
                        delivery: tokio::spawn(delivery.run()),
                        leases: Vec::new(),
                    };
                }
                // It is started again, as a service manager does, until the disk has room.
                Err(error) => {
                    self.tell(format!("it does not start: {error}"));
                    simulated::set_faults(|faults| faults.full = false);
                    tokio::time::sleep(PACE).await;
                }
            }
        }
    }
}

/// The contents of the frames of a segment.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = FrameReader::open_sealed(path).unwrap();
    let (end, mut contents) = (reader.length().unwrap(), Vec::new());
    while let NextFrame::Whole(frame) = reader.next(end).unwrap() {
        contents.push(frame.content);
    }
    contents
}

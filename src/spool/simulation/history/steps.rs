//! What happens in a history, one step at a time.

use super::{History, Process, chosen};
use crate::backend::{Record, RecordContext};
use crate::spool::Receipt;
use crate::spool::chain_file;
use crate::spool::disk::simulated::{self, Rot};
use crate::spool::simulation::backend::Mood;
use crate::spool::tests::record;
use crate::spool::witness::{Key, key};
use monitor_model::{RecordId, Secret, Stage};
use std::sync::Arc;
use std::time::Duration;

impl History {
    pub(super) async fn step(&mut self, mut process: Process) -> Process {
        match self.chance.below(28) {
            0..=5 => self.push(&process),
            6 => self.lease(&mut process),
            7 => self.end_lease(&mut process),
            8..=13 => {
                self.round(&mut process);
            }
            24 | 25 => self.append(&process),
            26 => self.push_while_syncing(&mut process),
            27 => {
                self.tell("a segment is full");
                process.spool.core.lock().begin_segment();
            }
            14..=16 => {
                let ms = 1 + self.chance.below(3_000);
                self.tell(format!("{ms} ms pass"));
                tokio::time::sleep(Duration::from_millis(ms)).await;
                simulated::move_clock(i64::try_from(ms).unwrap_or(0));
            }
            17 | 18 => {
                let mood = Mood::ALL[chosen(&mut self.chance, Mood::ALL.len())];
                self.tell(format!("the backend: {mood:?}"));
                self.backend.set_mood(mood);
            }
            19 => self.fault(),
            20 => self.rot(),
            21 => {
                let minutes = i64::try_from(self.chance.below(20)).unwrap_or(0) - 10;
                self.tell(format!("the clock jumps by {minutes} minutes"));
                simulated::move_clock(minutes * 60_000);
            }
            22 => return self.crash(process).await,
            _ => return self.restart(process).await,
        }
        process
    }

    fn record(&mut self, stage: Stage) -> Record {
        let length = chosen(&mut self.chance, 200);
        let plain = record(self.exchange, stage);
        let access_key = format!("key-{}", self.exchange % 3);
        let context = RecordContext {
            exchange: plain.context.exchange,
            access_key: Secret::new(access_key),
            application_id: None,
            user_id: None,
            session_id: None,
            trace: None,
        };
        Record {
            message: format!("{}-{}", self.exchange, "x".repeat(length)).into(),
            context: Arc::new(context),
            ..plain
        }
    }

    pub(super) fn push(&mut self, process: &Process) {
        for _ in 0..=self.chance.below(3) {
            self.exchange += 1;
            for stage in [Stage::PreCall, Stage::PostCall] {
                let record = self.record(stage);
                let key = key(&record);
                self.given.insert(key, record.message.to_string());
                let receipt = process.spool.push(record);
                self.tell(format!("{key:?} is pushed: {receipt:?}"));
                self.wait_for(key, receipt);
            }
        }
    }

    /// The second thread writes while the spool's thread does something else.
    fn append(&mut self, process: &Process) {
        let appended = process.writer.appender().append();
        self.tell(format!("what was accepted is written: {appended:?}"));
    }

    /// Records come while the next sync runs.
    fn push_while_syncing(&mut self, process: &mut Process) {
        for _ in 0..=self.chance.below(2) {
            self.exchange += 1;
            let record = self.record(Stage::PreCall);
            let key = key(&record);
            self.given.insert(key, record.message.to_string());
            process.writer.next_sync.comes.push(record);
        }
        if self.chance.once_in(3) {
            self.tell("a segment gets full during the next sync");
            process.writer.next_sync.fills_segment = true;
        }
        self.round(process);
    }

    pub(super) fn wait_for(&mut self, key: Key, receipt: Receipt) {
        // Nothing is promised of a record that is not accepted.
        if receipt != Receipt::NEVER && !receipt.is_over_share() {
            self.waiting.push((key, receipt));
        }
    }

    fn lease(&mut self, process: &mut Process) {
        self.exchange += 1;
        let record = self.record(Stage::PreCall);
        let key = key(&record);
        self.given.insert(key, record.message.to_string());
        self.tell(format!("{key:?} is leased"));
        process.leases.push(process.spool.lease(record));
    }

    fn end_lease(&mut self, process: &mut Process) {
        let Some(lease) = process.leases.pop() else {
            return;
        };
        let key = lease.record().map(key);
        match self.chance.below(3) {
            0 => {
                let receipt = lease.release();
                self.tell(format!("{key:?} is released: {receipt:?}"));
                if let Some(key) = key {
                    self.wait_for(key, receipt);
                }
            }
            1 => {
                self.tell(format!("{key:?} was stored by its call"));
                if let Some(record) = lease.record() {
                    self.backend.store(record);
                }
                lease.delivered(Some(RecordId::random()));
            }
            _ => {
                self.tell(format!("{key:?} is dropped"));
                drop(lease);
            }
        }
    }

    fn fault(&mut self) {
        let mut chance = self.chance.clone();
        let what = match chance.below(5) {
            0 => {
                self.sync_failures += 1;
                simulated::set_faults(|faults| faults.fails_sync = true);
                "the next sync fails"
            }
            1 => {
                simulated::set_faults(|faults| faults.lies = true);
                "the next sync lies"
            }
            2 => {
                let count = 1 + chance.below(4);
                simulated::set_faults(|faults| faults.refused_opens = count);
                "too many files are open"
            }
            3 => {
                simulated::set_faults(|faults| faults.full = true);
                "the disk is full"
            }
            _ => {
                simulated::set_faults(|faults| faults.full = false);
                "the disk has room"
            }
        };
        self.chance = chance;
        self.tell(what);
    }

    fn rot(&mut self) {
        let what = match self.chance.below(4) {
            0 => Rot::Sector(512),
            1 => Rot::Sector(4_096),
            _ => Rot::Bit,
        };
        if let Some(path) = simulated::rot(what) {
            match what {
                Rot::Bit => self.rotten += 1,
                Rot::Sector(_) => self.sectors += 1,
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
            if path.ends_with(chain_file::FILE_NAME) {
                self.chain_damage += 1;
                // Both copies of the note may be lost.
                if self.chain_damage > 1 {
                    self.forget_unnoted();
                }
            }
            self.letter_sectors += u64::from(kind == "letters" && !matches!(what, Rot::Bit));
            self.tell(format!("{what:?} of a file {kind} rots"));
        }
    }
}

//! What tests have happen while a sync runs: what the appender's thread does meanwhile.

use super::appender::Appender;
use crate::backend::Record;
use crate::spool::core::{Receipt, SpoolCore};
use crate::spool::witness::{Key, key};

#[derive(Default)]
pub(crate) struct DuringSync {
    /// Records that come.
    pub(crate) comes: Vec<Record>,
    /// The segment is full before they come.
    pub(crate) fills_segment: bool,
    /// Those that came, with their receipts.
    pub(crate) came: Vec<(Key, Receipt)>,
}

impl DuringSync {
    pub(super) fn happen(&mut self, core: &SpoolCore, appender: &Appender) {
        if std::mem::take(&mut self.fills_segment) {
            core.lock().begin_segment();
        }
        let comes = std::mem::take(&mut self.comes).into_iter();
        self.came
            .extend(comes.map(|record| (key(&record), core.push(record))));
        if !self.came.is_empty()
            && let Err(error) = appender.append()
        {
            core.log_disk_error(&error);
        }
    }
}

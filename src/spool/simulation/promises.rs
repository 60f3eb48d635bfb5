//! What is left of the promises at the end of a history.

use super::backend::key;
use super::history::History;
use super::losses::{damaged, lost};
use crate::spool::dead_letters;
use crate::spool::disk::simulated;
use std::collections::BTreeSet;

impl History {
    /// Holds what is promised against what is there.
    pub(super) fn judge(&mut self) {
        let stored = self.backend.stored();
        for (key, text) in &stored {
            if self.given.get(key) != Some(text) {
                self.broken
                    .push(format!("{key:?} is stored and was not given"));
            }
        }
        let lied = simulated::lies_told() > 0;
        // A note of the latest number that is lost with the power is in a segment too, unless that is damaged.
        let is_disk_sound = self.rotten == 0 && self.sync_failures == 0;
        let numbers_are_sure = !lied && (is_disk_sound || self.power_failures == 0);
        if numbers_are_sure {
            self.broken.extend(self.backend.wrong());
        }
        let letters = dead_letters(&self.folder).unwrap_or_default();
        let letters: BTreeSet<_> = letters.iter().map(|letter| key(&letter.record)).collect();
        let missing: Vec<_> = self
            .promised
            .iter()
            .filter(|key| !stored.contains_key(key) && !letters.contains(key))
            .filter(|key| !self.doubtful.contains(key))
            .collect();
        let (damaged_before, lost_before) = self.lost_before;
        let said = lost(&self.metrics) - lost_before;
        self.told.push(format!(
            "missing: {missing:?}, said: {said}, rotten: {}",
            self.rotten
        ));
        // Damage may hide how many records it covers: it was one at least.
        let hidden = self.rotten.saturating_sub(1) + self.unsaid;
        if missing.len() as u64 > said + hidden {
            let broken = format!("{missing:?} missing, and {said} said to be lost");
            self.broken.push(broken);
        }
        let others = said - (damaged(&self.metrics) - damaged_before);
        if missing.len() as u64 > others + self.rotten + self.unsaid && !lied {
            let broken = format!("{missing:?} missing for {} wrong bits", self.rotten);
            self.broken.push(broken);
        }
    }
}

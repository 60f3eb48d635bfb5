//! What is left of the promises at the end of a history.

use super::history::{FOLDERS, History};
use super::losses::{damaged, lost};
use crate::spool::dead_letters;
use crate::spool::disk::simulated;
use crate::spool::witness::{self, Key, key};
use std::collections::BTreeSet;
use std::path::Path;

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
        // A note of the latest number that is lost with the power is in a segment too, unless that is damaged. Two
        // lost sectors may be both copies of the note.
        let is_disk_sound = self.rotten == 0 && self.sectors == 0 && self.sync_failures == 0;
        let is_noted = self.power_failures == 0 && self.sectors < 2;
        if !lied && (is_disk_sound || is_noted) {
            self.broken.extend(self.backend.wrong());
        }
        let letters = FOLDERS.map(|folder| {
            let folder = self.spool_folder().sibling(Path::new(folder));
            dead_letters(&folder).unwrap_or_default()
        });
        let letters: Vec<_> = letters.into_iter().flatten().collect();
        let letters: BTreeSet<_> = letters.iter().map(|letter| key(&letter.record)).collect();
        let missing: Vec<_> = self
            .promised
            .iter()
            .filter(|key| !stored.contains_key(key) && !letters.contains(key))
            .filter(|key| self.sectors == 0 || !self.unnoted.contains(key))
            .copied()
            .collect();
        self.judge_each(&missing);
        self.judge_sums(&missing);
    }

    /// Each record that is missing is one that the spool gave up, or was in a file whose lost records are counted: of
    /// dead letters, or of the folder `incoming`.
    fn judge_each(&mut self, missing: &[Key]) {
        let (given_up, put_back) = (witness::given_up(), witness::put_back());
        for key in missing.iter().filter(|key| !given_up.contains(key)) {
            if !self.backend.refuses(key.0) && !put_back.contains(key) {
                self.broken
                    .push(format!("{key:?} is missing and was not given up"));
            }
        }
    }

    /// As many as are missing are said to be lost.
    fn judge_sums(&mut self, missing: &[Key]) {
        let (damaged_before, lost_before) = self.lost_before;
        let said = lost(&self.metrics) - lost_before;
        self.told.push(format!(
            "missing: {missing:?}, said: {said}, rotten: {}, sectors: {}",
            self.rotten, self.sectors
        ));
        // A lost sector at the end of a file of letters looks like an interrupted write.
        let is_letter = |key: &Key| self.backend.refuses(key.0);
        let letters = missing.iter().filter(|key| is_letter(key)).count() as u64;
        let unsaid = self.unsaid + if self.letter_sectors > 0 { letters } else { 0 };
        if said == 0 && missing.len() as u64 > unsaid {
            self.broken
                .push(format!("{missing:?} missing, and nothing said"));
        }
        // A lost sector covers any number of records, and may hide how many; so does what a disk did not write.
        let lied = simulated::lies_told() > 0;
        if self.sectors > 0 || lied {
            return;
        }
        if self.had_version_4_1 && self.may_lose_gateway && self.rotten > 0 {
            return;
        }
        // Damage may hide how many records it covers: it was one at least.
        let hidden = self.rotten.saturating_sub(1) + self.unsaid;
        if missing.len() as u64 > said + hidden {
            let broken = format!("{missing:?} missing, and {said} said to be lost");
            self.broken.push(broken);
        }
        let others = said - (damaged(&self.metrics) - damaged_before);
        let by_bits = others + self.rotten + self.unsaid;
        if missing.len() as u64 > by_bits && !self.had_version_4_1 {
            let broken = format!("{missing:?} missing for {} wrong bits", self.rotten);
            self.broken.push(broken);
        }
    }
}

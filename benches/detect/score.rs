//! How good finds are: precision, recall and F1 per type. A find is right when its type is right and
//! either its borders are equal ("exact") or overlap over union is at least one half ("IoU"); one find
//! answers to one labelled span. Reads sets of lines `{"text","entities"[,"types","ignore"]}`
//! with offsets in code points; nothing about how finds are made is known here.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One labeled text.
#[derive(Deserialize)]
pub(crate) struct Gold {
    pub(crate) text: String,
    pub(crate) entities: Vec<Mark>,
    /// The types it is fully labeled for; others are not judged. None: those that it has and those
    /// that were found in it.
    pub(crate) types: Option<Vec<String>>,
    /// Where a find is neither right nor wrong.
    #[serde(default)]
    ignore: Vec<Region>,
}

/// A labeled or found span in code points, end exclusive.
#[derive(Clone, Deserialize)]
pub(crate) struct Mark {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(flatten)]
    pub(crate) region: Region,
}

/// Code points, end exclusive.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Region {
    fn shared(self, other: Self) -> usize {
        self.end
            .min(other.end)
            .saturating_sub(self.start.max(other.start))
    }

    /// Overlap over union.
    fn likeness(self, other: Self) -> f64 {
        let shared = self.shared(other);
        let union = self.end.max(other.end) - self.start.min(other.start);
        if shared == 0 {
            0.0
        } else {
            shared as f64 / union as f64
        }
    }
}

/// What was right, wrong and missed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    pub(crate) missed: u64,
}

impl Count {
    pub(crate) fn precision(self) -> f64 {
        share(self.right, self.right + self.wrong)
    }

    pub(crate) fn recall(self) -> f64 {
        share(self.right, self.right + self.missed)
    }

    pub(crate) fn f1(self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / (precision + recall)
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// One type in one set.
#[derive(Clone, Copy, Default)]
pub(crate) struct Score {
    pub(crate) exact: Count,
    pub(crate) iou: Count,
}

/// Reads a set.
pub(crate) fn read(path: &Path) -> Vec<Gold> {
    let lines = std::fs::read_to_string(path).unwrap();
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Adds what was found in one text to the scores of its types.
pub(crate) fn add(scores: &mut BTreeMap<String, Score>, gold: &Gold, found: &[Mark]) {
    let kinds = match &gold.types {
        Some(kinds) => kinds.clone(),
        None => {
            let all = gold.entities.iter().chain(found);
            let mut kinds: Vec<_> = all.map(|mark| mark.kind.clone()).collect();
            kinds.sort();
            kinds.dedup();
            kinds
        }
    };
    for kind in kinds {
        let labelled = regions(&gold.entities, &kind);
        let found = regions(found, &kind);
        let score = scores.entry(kind).or_default();
        count(&mut score.exact, &labelled, &found, 1.0, &gold.ignore);
        count(&mut score.iou, &labelled, &found, 0.5, &gold.ignore);
    }
}

fn regions(marks: &[Mark], kind: &str) -> Vec<Region> {
    let marks = marks.iter().filter(|mark| mark.kind == kind);
    let mut regions: Vec<Region> = Vec::new();
    for mark in marks {
        if !regions.contains(&mark.region) {
            regions.push(mark.region);
        }
    }
    regions
}

/// Pairs the likest first, each once.
fn count(count: &mut Count, labelled: &[Region], found: &[Region], least: f64, ignore: &[Region]) {
    let mut pairs = Vec::new();
    for (l, label) in labelled.iter().enumerate() {
        for (f, find) in found.iter().enumerate() {
            let likeness = label.likeness(*find);
            if likeness >= least {
                pairs.push((likeness, l, f));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut has_find, mut is_right) = (vec![false; labelled.len()], vec![false; found.len()]);
    for (_, l, f) in pairs {
        if !has_find[l] && !is_right[f] {
            (has_find[l], is_right[f]) = (true, true);
        }
    }
    let counts = |region: &Region| {
        !ignore
            .iter()
            .any(|other| region.shared(*other) * 2 >= region.end - region.start)
    };
    let wrong = found
        .iter()
        .zip(&is_right)
        .filter(|(find, right)| !**right && counts(find));
    let right = is_right.iter().filter(|right| **right).count();
    count.right += right as u64;
    count.wrong += wrong.count() as u64;
    count.missed += (labelled.len() - right) as u64;
}

//! The weights of one language and the best sequence of labels under them (Viterbi). A linear chain:
//! a label depends on the token, its surroundings and the label before. Shared with the trainer.

use super::features::{Facts, MOST, features};

/// Labels: outside, then the first and the further tokens of a name, an organization, an address; a
/// place, which is nobody's find but keeps places from being taken for something else.
pub const LABELS: usize = 8;
/// Outside of everything.
pub const OUTSIDE: usize = 0;
/// The first token of a name; further tokens are one above, as with all kinds.
pub const NAME: usize = 1;
/// The first token of an organization.
pub const COMPANY: usize = 3;
/// The first token of an address.
pub const ADDRESS: usize = 5;
/// A place, which is no find of its own.
pub const PLACE: usize = 7;

/// First bytes of the file; the last is the version.
pub const MAGIC: &[u8; 8] = b"MGCHAIN1";
/// Bytes before the rows: magic, bits of the row number, scale, and the weights of label pairs.
pub const HEADER: usize = 8 + 4 + 4 + 4 * (LABELS + 1) * LABELS;

/// Weights: one row of eight bytes for each hashed feature.
#[derive(Clone)]
pub struct Model<'a> {
    bits: u32,
    scale: f32,
    /// By the label before; the last row is for the first token.
    pairs: [[f32; LABELS]; LABELS + 1],
    rows: &'a [u8],
}

impl<'a> Model<'a> {
    /// Reads weights; None where the bytes are none.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (header, rows) = bytes.split_at_checked(HEADER)?;
        let rest = header.strip_prefix(MAGIC)?;
        let number = |at: usize| {
            let bytes = rest.get(4 * at..4 * at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let mut pairs = [[0.0; LABELS]; LABELS + 1];
        for (at, weight) in pairs.iter_mut().flatten().enumerate() {
            *weight = f32::from_bits(number(at + 2)?);
        }
        let bits = number(0)?;
        let is_whole = (1..=24).contains(&bits) && rows.len() == LABELS << bits;
        is_whole.then_some(Self {
            bits,
            scale: f32::from_bits(number(1)?),
            pairs,
            rows,
        })
    }

    /// The labels of a sentence.
    pub fn label(&self, facts: &[Facts]) -> Vec<usize> {
        let mut hashes = Vec::with_capacity(MOST);
        let scores: Vec<_> = (0..facts.len())
            .map(|at| {
                hashes.clear();
                features(facts, at, &mut hashes);
                self.score(&hashes)
            })
            .collect();
        best(&scores, &self.pairs)
    }

    fn score(&self, hashes: &[u32]) -> [f32; LABELS] {
        let mut sums = [0_i32; LABELS];
        for hash in hashes {
            let row = (hash >> (32 - self.bits)) as usize * LABELS;
            if let Some(row) = self.rows.get(row..row + LABELS) {
                for (sum, weight) in sums.iter_mut().zip(row) {
                    *sum += i32::from(*weight as i8);
                }
            }
        }
        sums.map(|sum| sum as f32 * self.scale)
    }
}

/// Whether a label may follow another; None is the start of a sentence.
pub fn may_follow(before: Option<usize>, label: usize) -> bool {
    let is_further = matches!(label, 2 | 4 | 6);
    !is_further || before.is_some_and(|before| before == label || before + 1 == label)
}

/// The sequence with the highest sum.
pub fn best(scores: &[[f32; LABELS]], pairs: &[[f32; LABELS]; LABELS + 1]) -> Vec<usize> {
    let mut back: Vec<[usize; LABELS]> = Vec::with_capacity(scores.len());
    let mut sums = [f32::NEG_INFINITY; LABELS];
    for (at, score) in scores.iter().enumerate() {
        let mut next = [f32::NEG_INFINITY; LABELS];
        let mut from = [OUTSIDE; LABELS];
        for label in 0..LABELS {
            if at == 0 {
                if may_follow(None, label) {
                    next[label] = score[label] + pairs[LABELS][label];
                }
                continue;
            }
            for before in (0..LABELS).filter(|before| may_follow(Some(*before), label)) {
                let sum = sums[before] + pairs[before][label] + score[label];
                if sum > next[label] {
                    (next[label], from[label]) = (sum, before);
                }
            }
        }
        sums = next;
        back.push(from);
    }
    let ends = (0..LABELS).max_by(|a, b| sums[*a].total_cmp(&sums[*b]));
    let mut label = ends.unwrap_or(OUTSIDE);
    let mut labels = vec![OUTSIDE; scores.len()];
    for at in (0..scores.len()).rev() {
        labels[at] = label;
        label = back[at][label];
    }
    labels
}

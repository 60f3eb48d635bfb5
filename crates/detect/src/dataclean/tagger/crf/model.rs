//! The weights of one language and the best sequence of labels under them (Viterbi). A linear chain:
//! a label depends on the token, its surroundings and the label before. Shared with the trainer.

use super::features::{Facts, MOST, features};
use crate::weight_rows::WeightRows;

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
    scale: f32,
    /// By the label before; the last row is for the first token.
    pairs: [[f32; LABELS]; LABELS + 1],
    rows: WeightRows<'a>,
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
        Some(Self {
            scale: f32::from_bits(number(1)?),
            pairs,
            rows: WeightRows::new(number(0)?, rows)?,
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
        let sums = self.rows.sum(hashes);
        sums.map(|sum| sum as f32 * self.scale)
    }
}

/// Whether a label may follow another; None is the start of a sentence.
pub fn may_follow(before: Option<usize>, label: usize) -> bool {
    let is_further = matches!(label, 2 | 4 | 6);
    !is_further || before.is_some_and(|before| before == label || before + 1 == label)
}

/// The sequence with the highest sum. What may not follow has a weight that nothing makes up for, so that the
/// loop has no branches and the compiler turns it into vector instructions.
pub fn best(scores: &[[f32; LABELS]], pairs: &[[f32; LABELS]; LABELS + 1]) -> Vec<usize> {
    let mut allowed = *pairs;
    for (before, row) in allowed.iter_mut().enumerate() {
        let before = (before < LABELS).then_some(before);
        for (label, weight) in row.iter_mut().enumerate() {
            if !may_follow(before, label) {
                *weight = f32::NEG_INFINITY;
            }
        }
    }
    let mut back: Vec<[u32; LABELS]> = Vec::with_capacity(scores.len());
    let mut sums = [f32::NEG_INFINITY; LABELS];
    for (at, score) in scores.iter().enumerate() {
        let mut from = [OUTSIDE as u32; LABELS];
        if at == 0 {
            sums = std::array::from_fn(|label| score[label] + allowed[LABELS][label]);
        } else {
            (sums, from) = step(&sums, &allowed, score);
        }
        back.push(from);
    }
    let ends = (0..LABELS).max_by(|a, b| sums[*a].total_cmp(&sums[*b]));
    let mut label = ends.unwrap_or(OUTSIDE);
    let mut labels = vec![OUTSIDE; scores.len()];
    for at in (0..scores.len()).rev() {
        labels[at] = label;
        label = back[at][label] as usize;
    }
    labels
}

/// The highest sums with one more token, and the label before that each of them comes from.
fn step(
    sums: &[f32; LABELS],
    pairs: &[[f32; LABELS]; LABELS + 1],
    score: &[f32; LABELS],
) -> ([f32; LABELS], [u32; LABELS]) {
    let mut next = [f32::NEG_INFINITY; LABELS];
    let mut from = [OUTSIDE as u32; LABELS];
    for before in 0..LABELS {
        let row = &pairs[before];
        for label in 0..LABELS {
            let sum = sums[before] + row[label] + score[label];
            let is_higher = sum > next[label];
            next[label] = if is_higher { sum } else { next[label] };
            from[label] = if is_higher {
                before as u32
            } else {
                from[label]
            };
        }
    }
    (next, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The highest sum of all sequences, each tried.
    fn tried(scores: &[[f32; LABELS]], pairs: &[[f32; LABELS]; LABELS + 1]) -> Vec<usize> {
        let (mut best, mut highest) = (Vec::new(), f32::NEG_INFINITY);
        for number in 0..LABELS.pow(scores.len() as u32) {
            let label = |at: usize| number / LABELS.pow(at as u32) % LABELS;
            let labels: Vec<_> = (0..scores.len()).map(label).collect();
            let before = |at: usize| at.checked_sub(1).map(|at| labels[at]);
            if !(0..labels.len()).all(|at| may_follow(before(at), labels[at])) {
                continue;
            }
            let each = (0..labels.len()).map(|at| {
                let row = before(at).unwrap_or(LABELS);
                pairs[row][labels[at]] + scores[at][labels[at]]
            });
            let sum = each.sum();
            if sum > highest {
                (best, highest) = (labels, sum);
            }
        }
        best
    }

    #[test]
    fn the_best_sequence_is_the_best_of_all_that_may_be() {
        // Whole numbers, so that no sum is rounded; further labels score high where they may not stand.
        let mut state = 7_u32;
        let mut weight = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 12) as f32 - 500_000.0
        };
        for length in [1, 2, 3, 4] {
            for _ in 0..20 {
                let pairs = std::array::from_fn(|_| std::array::from_fn(|_| weight() / 4.0));
                let scores: Vec<_> = (0..length)
                    .map(|_| std::array::from_fn(|_| weight()))
                    .collect();
                assert_eq!(best(&scores, &pairs), tried(&scores, &pairs));
            }
        }
        assert!(best(&[], &[[0.0; LABELS]; LABELS + 1]).is_empty());
    }
}

//! Trains a linear-chain CRF over hashed features: exact gradients by forward and backward sums,
//! AdaGrad, features dropped at random so that no single word carries a decision.

use crate::random::Random;
use monitor_detect::training::crf::features::{self, Facts};
use monitor_detect::training::crf::model::{COMPANY, HEADER, LABELS, MAGIC, NAME, may_follow};

/// Rows of the weights, as a power of two.
pub const BITS: u32 = 19;

/// The first step of AdaGrad; it shrinks to a fifth.
const RATE: f32 = 0.08;
/// The share of features dropped at random.
const DROPPED: f64 = 0.3;
/// The pull towards nothing.
const SHRINK: f32 = 2e-6;
/// How much the first tokens of a name and of an organization are favored, so that misses and false
/// finds weigh the same.
pub struct Lift {
    pub name: f32,
    pub company: f32,
}

/// One sentence ready for training.
pub struct Example {
    pub facts: Vec<Facts>,
    pub labels: Vec<usize>,
    /// Only for the first half of the training.
    pub early: bool,
    /// How much it counts.
    pub weight: f32,
}

pub struct Chain {
    rows: Vec<[f32; LABELS]>,
    squares: Vec<[f32; LABELS]>,
    pairs: [[f32; LABELS]; LABELS + 1],
    pair_squares: [[f32; LABELS]; LABELS + 1],
}

pub fn train(examples: &[Example], epochs: usize, seed: u64) -> Chain {
    let mut chain = Chain {
        rows: vec![[0.0; LABELS]; 1 << BITS],
        squares: vec![[1e-3; LABELS]; 1 << BITS],
        pairs: [[0.0; LABELS]; LABELS + 1],
        pair_squares: [[1e-3; LABELS]; LABELS + 1],
    };
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    for epoch in 0..epochs {
        random.shuffle(&mut order);
        let rate = RATE * (1.0 - 0.8 * epoch as f32 / epochs as f32);
        let mut loss = 0.0;
        let is_early = epoch * 2 < epochs;
        for at in order.iter().filter(|at| is_early || !examples[**at].early) {
            loss += chain.step(&examples[*at], rate, &mut random);
        }
        eprintln!(
            "epoch {epoch}: loss {:.4}",
            loss / examples.len().max(1) as f32
        );
    }
    chain
}

type Scores = Vec<[f32; LABELS]>;

impl Chain {
    fn step(&mut self, example: &Example, rate: f32, random: &mut Random) -> f32 {
        let length = example.labels.len();
        let mut hashed = Vec::with_capacity(length);
        let mut scores: Scores = Vec::with_capacity(length);
        for at in 0..length {
            let mut hashes = Vec::new();
            features::features(&example.facts, at, &mut hashes);
            hashes.retain(|_| !random.chance(DROPPED));
            let mut sum = [0.0; LABELS];
            for hash in &hashes {
                let row = &self.rows[(hash >> (32 - BITS)) as usize];
                for label in 0..LABELS {
                    sum[label] += row[label] / (1.0 - DROPPED as f32);
                }
            }
            scores.push(sum);
            hashed.push(hashes);
        }
        let (gradients, pairs, loss) = self.gradients(&scores, &example.labels);
        for (hashes, gradient) in hashed.iter().zip(&gradients) {
            if gradient.iter().all(|value| value.abs() < 1e-4) {
                continue;
            }
            for hash in hashes {
                let row = (hash >> (32 - BITS)) as usize;
                for label in 0..LABELS {
                    let weight = &mut self.rows[row][label];
                    let slope = gradient[label] * example.weight + SHRINK * *weight;
                    let square = &mut self.squares[row][label];
                    *square += slope * slope;
                    *weight -= rate * slope / square.sqrt() * 0.3;
                }
            }
        }
        for before in 0..=LABELS {
            for label in 0..LABELS {
                let slope = pairs[before][label] * example.weight;
                let square = &mut self.pair_squares[before][label];
                *square += slope * slope;
                self.pairs[before][label] -= rate * slope / square.sqrt();
            }
        }
        loss
    }

    /// Expected minus seen counts, by token and by pair, and the loss.
    fn gradients(
        &self,
        scores: &Scores,
        labels: &[usize],
    ) -> (Scores, [[f32; LABELS]; LABELS + 1], f32) {
        let length = scores.len();
        let pair = |before: usize, label: usize| {
            let allowed = may_follow((before < LABELS).then_some(before), label);
            if allowed {
                self.pairs[before][label]
            } else {
                -1e4
            }
        };
        let mut forward: Scores = Vec::with_capacity(length);
        for at in 0..length {
            let mut sums = [0.0; LABELS];
            for label in 0..LABELS {
                sums[label] = scores[at][label]
                    + match at {
                        0 => pair(LABELS, label),
                        _ => log_sum(std::array::from_fn(|before| {
                            forward[at - 1][before] + pair(before, label)
                        })),
                    };
            }
            forward.push(sums);
        }
        let mut backward: Scores = vec![[0.0; LABELS]; length];
        for at in (0..length.saturating_sub(1)).rev() {
            for label in 0..LABELS {
                backward[at][label] = log_sum(std::array::from_fn(|next| {
                    backward[at + 1][next] + scores[at + 1][next] + pair(label, next)
                }));
            }
        }
        let total = log_sum(forward[length - 1]);
        let mut gradients: Scores = Vec::with_capacity(length);
        let mut pairs = [[0.0; LABELS]; LABELS + 1];
        let mut right = 0.0;
        for at in 0..length {
            let mut gradient: [f32; LABELS] = std::array::from_fn(|label| {
                (forward[at][label] + backward[at][label] - total).exp()
            });
            gradient[labels[at]] -= 1.0;
            gradients.push(gradient);
            let before = if at == 0 { LABELS } else { labels[at - 1] };
            right += scores[at][labels[at]] + pair(before, labels[at]);
            pairs[before][labels[at]] -= 1.0;
            for label in 0..LABELS {
                match at {
                    0 => {
                        pairs[LABELS][label] +=
                            (forward[0][label] + backward[0][label] - total).exp()
                    }
                    _ => {
                        for before in 0..LABELS {
                            let sum = forward[at - 1][before]
                                + pair(before, label)
                                + scores[at][label]
                                + backward[at][label];
                            pairs[before][label] += (sum - total).exp();
                        }
                    }
                }
            }
        }
        (gradients, pairs, total - right)
    }

    /// The file of the weights: each weight in one byte.
    pub fn write(&self, lift: &Lift) -> Vec<u8> {
        let most = self
            .rows
            .iter()
            .flatten()
            .fold(0.0_f32, |most, weight| most.max(weight.abs()));
        let scale = most / 127.0;
        let mut out = MAGIC.to_vec();
        out.extend(BITS.to_le_bytes());
        out.extend(scale.to_le_bytes());
        for row in &self.pairs {
            for (label, weight) in row.iter().enumerate() {
                let extra = match label {
                    NAME => lift.name,
                    COMPANY => lift.company,
                    _ => 0.0,
                };
                out.extend((weight + extra).to_le_bytes());
            }
        }
        assert_eq!(out.len(), HEADER);
        out.extend(
            self.rows
                .iter()
                .flatten()
                .map(|weight| (weight / scale).round() as i8 as u8),
        );
        eprintln!("largest weight {most}");
        out
    }
}

fn log_sum(values: [f32; LABELS]) -> f32 {
    let most = values.iter().fold(f32::MIN, |most, value| most.max(*value));
    most + values
        .iter()
        .map(|value| (value - most).exp())
        .sum::<f32>()
        .ln()
}

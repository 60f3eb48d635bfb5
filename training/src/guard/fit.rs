//! Fits the linear models: logistic regression with a rate for each weight that falls as it is used
//! (AdaGrad). Of a long attack only the part that looks most like one is held to be one; of a harmless text
//! every part is harmless.

use super::rows::{Label, Row};
use crate::random::Random;
use monitor_detect::training::linear::features::{Features, PIECE, Script};
use monitor_detect::training::linear::{
    ATTACK, Column, FOREIGN, HARM, HEADER, HEADS, KINDS, MAGIC, doublings, length, long, parts,
};
use monitor_detect::training::{cues, harm_kinds, obfuscation, reading::TokenizedText};

/// Bits of a row's number.
pub const BITS: u32 = 20;
pub const USED: usize = 6;
const EPOCHS: usize = 8;
/// Epochs in which a whole text stands for its parts.
const WHOLE_EPOCHS: usize = 3;
/// How fast the columns learn. What attacks are made of is learned slowly: fast, the patterns of the known ones
/// drown the rest.
const RATES: [f32; USED] = [0.04, 0.25, 0.25, 0.25, 0.25, 0.0];
const DECAY: f32 = 2e-6;
/// Texts that a feature must stand in.
const LEAST: u8 = 2;
/// See [`Column::doubling`].
pub const DOUBLING: f32 = 0.45;

/// A text as the models see it: each reading whole and in parts.
pub struct Seen {
    pub readings: Vec<Features>,
    /// Of each reading: how much of a harmful request is about which category.
    shares: Vec<Shares>,
}

/// Categories of harm, and how much a text is about each.
pub type Shares = [(&'static str, f32); harm_kinds::KINDS];

/// Margins of a text, the highest of all readings and parts.
pub struct Judged {
    pub attack: f32,
    pub harm: f32,
    /// Negative infinity for what is no letter.
    pub foreign: f32,
    /// Margins of the kinds of attacks, of what looks most like one.
    pub kinds: [f32; 3],
    /// Of the reading that looks most harmful.
    pub shares: Shares,
}

impl Seen {
    /// Whose thresholds it is judged by: those of Cyrillic texts where a reading is one.
    pub fn script(&self) -> usize {
        let is_cyrillic = |features: &Features| features.script == Script::Cyrillic;
        match self.readings.iter().any(is_cyrillic) {
            true => Script::Cyrillic as usize,
            false => self.readings[0].script as usize,
        }
    }
}

impl Seen {
    pub fn of(text: &str) -> Self {
        let read = TokenizedText::new(text);
        let hidden = obfuscation::readings(text, &read);
        let hidden = hidden.iter().map(|text| TokenizedText::new(text));
        let reads: Vec<TokenizedText> = std::iter::once(read).chain(hidden).collect();
        let features = |read: &TokenizedText| Features::new(read, &cues::find(read));
        Self {
            readings: reads.iter().map(features).collect(),
            shares: reads.iter().map(harm_kinds::shares).collect(),
        }
    }
}

/// Weights under training.
pub struct Weights {
    pub rows: Vec<[f32; USED]>,
    pub bias: [f32; USED],
}

/// The row of a hash.
pub fn place(hash: u32) -> usize {
    (hash >> (32 - BITS)) as usize
}

/// The hashes of some tokens, and those of the whole text.
fn pieces(features: &Features, (from, to): (usize, usize)) -> impl Iterator<Item = &u32> {
    let start = match from {
        0 => 0,
        _ => features.ends[from - 1] as usize,
    };
    let end = match to {
        0 => 0,
        _ => features.ends[to - 1] as usize,
    };
    features.hashes[start..end].iter().chain(&features.whole)
}

/// The hashes of a sentence: of its tokens, and of what it does.
pub fn sentence_pieces(features: &Features, at: usize) -> impl Iterator<Item = &u32> {
    let sentence = &features.sentences[at];
    let start = sentence
        .from
        .checked_sub(1)
        .map_or(0, |at| features.ends[at]) as usize;
    let end = features.ends[sentence.to - 1] as usize;
    features.hashes[start..end].iter().chain(&sentence.hashes)
}

impl Weights {
    pub fn margin(&self, features: &Features, range: (usize, usize)) -> [f32; USED] {
        let (mut sums, mut count) = ([0.0; USED], 0);
        for hash in pieces(features, range) {
            count += 1;
            for (sum, weight) in sums.iter_mut().zip(self.rows[place(*hash)]) {
                *sum += weight;
            }
        }
        let length = length(count);
        let mut out = self.bias;
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += sum / length;
        }
        out
    }

    /// What the models say of a text.
    pub fn judge(&self, seen: &Seen) -> Judged {
        let mut out = Judged {
            attack: f32::MIN,
            harm: f32::MIN,
            foreign: f32::NEG_INFINITY,
            kinds: [0.0; 3],
            shares: seen.shares[0],
        };
        for (features, shares) in seen.readings.iter().zip(&seen.shares) {
            let tokens = features.ends.len();
            let parts = parts(tokens);
            let cost = DOUBLING * doublings(parts.len());
            let whole = std::iter::once(((0, tokens), 0.0));
            for (part, cost) in whole.chain(parts.into_iter().map(|part| (part, cost))) {
                let margins = self.margin(features, part);
                if margins[ATTACK] - cost > out.attack {
                    out.attack = margins[ATTACK] - cost;
                    out.kinds = KINDS.map(|head| margins[head]);
                }
                if margins[HARM] - cost > out.harm {
                    out.harm = margins[HARM] - cost;
                    out.shares = *shares;
                }
            }
        }
        // What was hidden is no letter.
        out.foreign = self.foreign(&seen.readings[0]);
        out
    }

    /// The highest margin of the sentences of a letter.
    pub fn foreign(&self, features: &Features) -> f32 {
        let cost = DOUBLING * long(features.sentences.len());
        let each = (0..features.sentences.len()).map(|at| self.sentence(features, at).0 - cost);
        each.fold(f32::NEG_INFINITY, f32::max)
    }

    /// The margin of one sentence, and what its sum is divided by.
    pub fn sentence(&self, features: &Features, at: usize) -> (f32, f32) {
        let (mut sum, mut count) = (0.0, 0);
        for hash in sentence_pieces(features, at) {
            count += 1;
            sum += self.rows[place(*hash)][FOREIGN];
        }
        let length = length(count);
        (sum / length + self.bias[FOREIGN], length)
    }

    /// The file of the product.
    pub fn write(&self, columns: &[Column; HEADS]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(BITS.to_le_bytes());
        let mut scales = [1.0; HEADS];
        for (head, scale) in scales.iter_mut().enumerate().take(USED) {
            let largest = self
                .rows
                .iter()
                .map(|row| row[head].abs())
                .fold(0.0, f32::max);
            // The few largest weights are cut, for the sake of the many small ones.
            *scale = largest.min(6.0) / 127.0;
        }
        for (head, column) in columns.iter().enumerate() {
            let fields = [scales[head], column.bias, column.slope, column.doubling];
            for value in fields.into_iter().chain(column.thresholds) {
                out.extend(value.to_le_bytes());
            }
        }
        assert_eq!(out.len(), HEADER);
        for row in &self.rows {
            for head in 0..HEADS {
                let weight = row.get(head).copied().unwrap_or(0.0) / scales[head];
                out.push((weight.round().clamp(-127.0, 127.0) as i8) as u8);
            }
        }
        out
    }
}

/// What a head should say, and how much that counts; None where nothing is known.
fn targets(row: &Row) -> [Option<(f32, f32)>; USED] {
    let mut out = [None; USED];
    match row.label {
        Label::Benign => {
            out[ATTACK] = Some((0.0, 1.0));
            out[HARM] = Some((0.0, 1.0));
        }
        Label::Harm => {
            out[ATTACK] = Some((0.0, 0.1));
            out[HARM] = Some((1.0, 1.0));
        }
        Label::Attack(kind) => {
            out[ATTACK] = Some((1.0, 1.0));
            if row.is_harmful {
                out[HARM] = Some((1.0, 0.4));
            }
            for (at, head) in KINDS.into_iter().enumerate() {
                out[head] = Some((f32::from(u8::from(at == kind)), 0.5));
            }
        }
    }
    out
}

pub fn fit(rows: &[(&Row, &Seen)], seed: u64) -> Weights {
    let size = 1 << BITS;
    let mut weights = Weights {
        rows: vec![[0.0; USED]; size],
        bias: [-1.0; USED],
    };
    let used = used(rows);
    let mut squares = vec![[1e-4_f32; USED]; size];
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    for epoch in 0..EPOCHS {
        random.shuffle(&mut order);
        for at in &order {
            let (row, seen) = rows[*at];
            for (reading, features) in seen.readings.iter().enumerate() {
                let tokens = features.ends.len();
                let weight = if reading == 0 {
                    row.weight
                } else {
                    row.weight * 0.5
                };
                let ranges = match row.label {
                    Label::Benign => {
                        let mut ranges = parts(tokens);
                        // A long document counts as a few, not as hundreds.
                        while ranges.len() > 6 {
                            ranges.swap_remove(random.below(ranges.len()));
                        }
                        ranges.push((0, tokens));
                        ranges
                    }
                    _ if epoch < WHOLE_EPOCHS => vec![(0, tokens)],
                    _ => vec![(0, tokens), best_part(&weights, features)],
                };
                for range in ranges {
                    step(
                        &mut weights,
                        &mut squares,
                        (&used, features, range),
                        row,
                        weight,
                    );
                }
            }
        }
    }
    weights
}

fn best_part(weights: &Weights, features: &Features) -> (usize, usize) {
    let parts = parts(features.ends.len());
    let margin = |part: &(usize, usize)| weights.margin(features, *part)[ATTACK];
    let best = parts
        .into_iter()
        .max_by(|a, b| margin(a).total_cmp(&margin(b)));
    best.unwrap_or((0, features.ends.len()))
}

type Piece<'f> = (&'f [bool], &'f Features, (usize, usize));

fn step(
    weights: &mut Weights,
    squares: &mut [[f32; USED]],
    (used, features, range): Piece<'_>,
    row: &Row,
    weight: f32,
) {
    let margins = weights.margin(features, range);
    let count = pieces(features, range).count();
    let value = 1.0 / length(count as u32);
    let mut gradient = [0.0; USED];
    for (head, target) in targets(row).into_iter().enumerate() {
        if let Some((target, share)) = target {
            let guess = 1.0 / (1.0 + (-margins[head]).exp());
            gradient[head] = (guess - target) * weight * share;
        }
    }
    if gradient.iter().all(|slope| slope.abs() < 1e-3) {
        return;
    }
    for hash in pieces(features, range) {
        let place = place(*hash);
        if !used[place] {
            continue;
        }
        let (row, squares) = (&mut weights.rows[place], &mut squares[place]);
        for head in 0..USED {
            // Pieces of Latin words are no good to the model of harmful requests.
            if head == HARM && hash & PIECE != 0 {
                continue;
            }
            let slope = gradient[head] * value + DECAY * row[head];
            squares[head] += slope * slope;
            row[head] -= RATES[head] * slope / squares[head].sqrt();
        }
    }
    for head in 0..USED {
        weights.bias[head] -= 0.02 * gradient[head];
    }
}

/// The rows whose features stand in enough texts.
fn used(rows: &[(&Row, &Seen)]) -> Vec<bool> {
    let mut counts = vec![0_u8; 1 << BITS];
    let mut last = vec![u32::MAX; 1 << BITS];
    for (at, (_, seen)) in rows.iter().enumerate() {
        for features in &seen.readings {
            for hash in features.hashes.iter().chain(&features.whole) {
                let place = place(*hash);
                if last[place] != at as u32 {
                    last[place] = at as u32;
                    counts[place] = counts[place].saturating_add(1);
                }
            }
        }
    }
    counts.into_iter().map(|count| count >= LEAST).collect()
}

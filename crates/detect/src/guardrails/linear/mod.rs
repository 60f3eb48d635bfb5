//! The linear models: one row of one-byte weights for each hashed feature, one column for each model. A long
//! message is scored in parts, so that a few sentences in a long document weigh as much as alone; the more
//! parts there are, the more evidence a part needs. The trainer uses this code.

pub mod features;
pub mod hash;
pub mod mail;

use crate::weight_rows::{COLUMNS, WeightRows};
use features::{Features, Script};

/// Columns: whether it is an attack, a harmful request; and which attack it is.
pub const HEADS: usize = COLUMNS;
/// An attack of any kind.
pub const ATTACK: usize = 0;
/// A harmful request of any kind.
pub const HARM: usize = 1;
/// The kinds of attacks: injection, jailbreak, extraction.
pub const KINDS: [usize; 3] = [2, 3, 4];
/// A sentence of a mail that asks an assistant for what has nothing to do with the mail.
pub const FOREIGN: usize = 5;

/// Tokens of a part, and how far the next one begins behind it.
pub const PART: usize = 64;
/// How many tokens behind a part the next one begins.
pub const STRIDE: usize = 32;
/// A message of up to so many tokens is one part.
pub const SHORT: usize = 96;

/// Different words without which a part says nothing: numbers, or one word over and over.
const FEWEST: usize = 3;
/// A part of which fewer than one word in so many is a new one is repetition; and the shortest such part.
const REPEATED: usize = 8;
/// The shortest part that can count as repetition, in tokens.
const REPETITION: usize = 24;
/// Tokens that are looked at for it.
const LOOKED_AT: usize = 512;

/// Sentences of a mail.
const MAIL_SENTENCES: f32 = 16.0;

/// Features of a part; a longer text counts by their mean.
pub const FULL: u32 = 900;

/// Of a longer message, so many parts are paid for: an attack in a book is still one.
const PRICED: usize = 16;

/// First bytes of the file; the last is the version.
pub const MAGIC: &[u8; 8] = b"MGGUARD2";
/// Numbers that belong to a column.
const FIELDS: usize = 4 + Script::ALL;
/// Bytes before the rows: magic, bits of the row number, and for each column scale, bias, slope, what each
/// doubling of the number of parts costs, and thresholds.
pub const HEADER: usize = 8 + 4 + 4 * FIELDS * HEADS;

/// The weights of all models, read from one file.
#[derive(Clone)]
pub struct Model<'a> {
    columns: [Column; HEADS],
    rows: WeightRows<'a>,
}

/// What belongs to one model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Column {
    /// What a weight of one is worth.
    pub scale: f32,
    pub bias: f32,
    /// The margin at which the score is one half, by [`Script`].
    pub thresholds: [f32; Script::ALL],
    /// How fast the score rises with the margin.
    pub slope: f32,
    /// Taken from the margin of a part for each doubling of their number.
    pub doubling: f32,
}

/// Margins of a text that says nothing: no attack, no harm, and no kind likelier than another.
const NOTHING: [f32; HEADS] = {
    let mut margins = [0.0; HEADS];
    margins[ATTACK] = f32::NEG_INFINITY;
    margins[HARM] = f32::NEG_INFINITY;
    margins
};

/// Sums of a part.
#[derive(Clone, Copy, Default)]
struct Sums {
    values: [i32; HEADS],
    count: u32,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        for (sum, value) in self.values.iter_mut().zip(other.values) {
            *sum += value;
        }
        self.count += other.count;
    }
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
        let bits = number(0)?;
        let mut columns = [Column::default(); HEADS];
        for (at, column) in columns.iter_mut().enumerate() {
            let value = |field: usize| number(1 + at * FIELDS + field).map(f32::from_bits);
            *column = Column {
                scale: value(0)?,
                bias: value(1)?,
                slope: value(2)?,
                doubling: value(3)?,
                thresholds: [value(4)?, value(5)?, value(6)?],
            };
        }
        let rows = WeightRows::new(bits, rows)?;
        Some(Self { columns, rows })
    }

    /// For each model the score of its best part, 0 to 1 and one half at its threshold. The columns of the
    /// kinds of attacks hold margins, those of the part that looks most like an attack.
    pub fn scores(&self, features: &Features) -> [f32; HEADS] {
        let (tokens, whole) = self.sums(features);
        let mut best = self.margins(&tokens, &whole, &features.words);
        best[FOREIGN] = self.foreign(features, &tokens);
        let mut out = [0.0; HEADS];
        for head in [ATTACK, HARM, FOREIGN] {
            let column = self.columns[head];
            let threshold = column.thresholds[features.script as usize];
            let rise = column.slope * (best[head] - threshold);
            out[head] = 1.0 / (1.0 + (-rise).exp());
        }
        for head in KINDS {
            out[head] = std::mem::take(&mut best[head]);
        }
        out
    }

    /// The highest margins of all parts.
    fn margins(&self, tokens: &[Sums], whole: &Sums, words: &[u32]) -> [f32; HEADS] {
        let mut all = *whole;
        tokens.iter().for_each(|token| all.add(token));
        let mut best = match says_something(words) {
            true => self.margin(&all, 0.0),
            false => NOTHING,
        };
        let parts = parts(tokens.len());
        let doublings = doublings(parts.len());
        for (from, to) in parts {
            if !says_something(&words[from..to]) {
                continue;
            }
            let mut sums = *whole;
            tokens[from..to].iter().for_each(|token| sums.add(token));
            let margins = self.margin(&sums, doublings);
            if margins[ATTACK] > best[ATTACK] {
                for head in KINDS {
                    best[head] = margins[head];
                }
            }
            for head in [ATTACK, HARM] {
                best[head] = best[head].max(margins[head]);
            }
        }
        best
    }

    /// The highest margin of the sentences of a mail.
    fn foreign(&self, features: &Features, tokens: &[Sums]) -> f32 {
        let sentences = features.sentences.iter().map(|sentence| {
            let mut sums = self.sum(&sentence.hashes);
            let own = tokens.get(sentence.from..sentence.to).unwrap_or_default();
            own.iter().for_each(|token| sums.add(token));
            self.margin(&sums, long(features.sentences.len()))[FOREIGN]
        });
        sentences.fold(f32::NEG_INFINITY, f32::max)
    }

    fn margin(&self, sums: &Sums, doublings: f32) -> [f32; HEADS] {
        let length = length(sums.count);
        let mut out = [0.0; HEADS];
        for (head, column) in self.columns.iter().enumerate() {
            let sum = sums.values[head] as f32 * column.scale / length;
            out[head] = sum + column.bias - column.doubling * doublings;
        }
        out
    }

    fn sums(&self, features: &Features) -> (Vec<Sums>, Sums) {
        let mut from = 0;
        let tokens = features.ends.iter().map(|end| {
            let end = *end as usize;
            let sums = self.sum(&features.hashes[from..end]);
            from = end;
            sums
        });
        let tokens = tokens.collect();
        (tokens, self.sum(&features.whole))
    }

    fn sum(&self, hashes: &[u32]) -> Sums {
        Sums {
            values: self.rows.sum(hashes),
            count: hashes.len() as u32,
        }
    }
}

/// Whether there are enough different words for a model to judge; cues do not need them. Most texts have them at
/// their beginning, and no more is looked at.
fn says_something(words: &[u32]) -> bool {
    let looked_at = &words[..words.len().min(LOOKED_AT)];
    let enough = match looked_at.len() {
        REPETITION.. => looked_at.len().div_ceil(REPEATED).max(FEWEST),
        _ => FEWEST,
    };
    let mut different: Vec<u32> = Vec::with_capacity(enough);
    for word in looked_at.iter().filter(|word| **word != 0) {
        if !different.contains(word) {
            different.push(*word);
            if different.len() == enough {
                return true;
            }
        }
    }
    false
}

/// What a sum over so many features is divided by.
pub fn length(count: u32) -> f32 {
    let count = count.max(1);
    (count as f32)
        .sqrt()
        .max(count as f32 / (FULL as f32).sqrt())
}

/// How often a mail of so many sentences is twice as long as mails are.
pub fn long(sentences: usize) -> f32 {
    (sentences as f32 / MAIL_SENTENCES).max(1.0).log2()
}

/// How often the number of parts is double, as far as it is paid for.
pub fn doublings(parts: usize) -> f32 {
    (parts.clamp(1, PRICED) as f32).log2()
}

/// The parts of a message of so many tokens; none for a short one.
pub fn parts(tokens: usize) -> Vec<(usize, usize)> {
    if tokens <= SHORT {
        return Vec::new();
    }
    let starts = (0..tokens - STRIDE).step_by(STRIDE);
    starts.map(|from| (from, tokens.min(from + PART))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_of_a_long_message_stands_in_a_part() {
        assert!(parts(SHORT).is_empty());
        for tokens in [SHORT + 1, 128, 129, 1000] {
            let parts = parts(tokens);
            assert_eq!(parts.first().map(|part| part.0), Some(0));
            assert_eq!(parts.last().map(|part| part.1), Some(tokens));
            assert!(parts.windows(2).all(|pair| pair[1].0 <= pair[0].1));
        }
    }

    #[test]
    fn a_part_needs_three_different_words_and_a_new_one_of_eight() {
        let words = |different: u32, times: usize| {
            let each = 1..=different;
            let mut words: Vec<u32> = each.collect();
            words.resize(times, 1);
            words
        };
        for (different, all, says) in [
            (2, 23, false),
            (3, 3, true),
            (3, 23, true),
            (3, 24, true),
            (3, 25, false),
            (4, 25, true),
            (7, 64, false),
            (8, 64, true),
            (63, 600, false),
            (64, 600, true),
        ] {
            let words = words(different, all);
            assert_eq!(says_something(&words), says, "{different} of {all}");
        }
        assert!(!says_something(&[0; 100]));
    }

    #[test]
    fn bytes_that_are_no_weights_are_refused() {
        assert!(Model::new(&[]).is_none());
        assert!(Model::new(&[0; HEADER + HEADS * 2]).is_none());
    }
}

//! Makes the table of word classes from word vectors: `--glove FILE`, lines of a word and its numbers, the
//! most frequent word first.

use super::classes::ROW;
use super::features::word_hash;
use crate::clusters::{k_means, normalise};
use crate::read;
use std::collections::HashSet;
use std::path::Path;

const FINE: usize = 1000;
const COARSE: usize = 200;
/// The most frequent words are enough.
const WORDS: usize = 60_000;

/// Writes the table.
pub fn make(vectors: &Path, out: &Path) {
    let text = read::text(vectors);
    let (mut words, mut values, mut hashes) = (Vec::new(), Vec::new(), HashSet::new());
    for line in text.lines().take(WORDS) {
        let mut fields = line.split(' ');
        let hash = word_hash(fields.next().expect("word"));
        if hashes.insert(hash) {
            words.push(hash);
            values.extend(fields.map(|value| value.parse::<f32>().expect("number")));
        }
    }
    let dim = values.len() / words.len();
    normalise(&mut values, dim);
    let order: Vec<usize> = (0..words.len()).collect();
    let fine = k_means(&values, dim, FINE, &order);
    let coarse = k_means(&values, dim, COARSE, &order);
    let mut table = Vec::with_capacity(words.len() * ROW);
    for at in order {
        table.extend(words[at].to_le_bytes());
        // Zero stands for no word.
        table.extend((fine[at] as u16 + 1).to_le_bytes());
        table.push(coarse[at] as u8);
    }
    std::fs::write(out, table).expect("table");
}

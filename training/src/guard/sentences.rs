//! Fits the column that knows what a letter's sentence asks of an assistant that has nothing to do with the
//! letter. Learns sentence by sentence: those that were put in, those that stood there, and requests about
//! the letter.

use super::fit::{BITS, Seen, Weights, place, sentence_pieces};
use super::letters::Letter;
use crate::random::Random;
use monitor_detect::training::linear::FOREIGN;

const EPOCHS: usize = 5;
const RATE: f32 = 0.2;
const DECAY: f32 = 1e-6;
/// How much a sentence that was put in counts; there are many more of the others.
const ASKED: f32 = 3.0;

/// One sentence to learn from.
struct Example<'s> {
    seen: &'s Seen,
    at: usize,
    is_asked: bool,
}

/// Fits the column; the others stay as they are.
pub fn fit(weights: &mut Weights, letters: &[(&Letter, &Seen)], seed: u64) {
    let mut random = Random::new(seed);
    let mut examples: Vec<Example<'_>> = Vec::new();
    for (letter, seen) in letters {
        for (at, sentence) in seen.readings[0].sentences.iter().enumerate() {
            let is_asked = letter.asked.is_some_and(|(from, to)| {
                let common = sentence.to.min(to).saturating_sub(sentence.from.max(from));
                common * 2 > sentence.to - sentence.from
            });
            examples.push(Example { seen, at, is_asked });
        }
    }
    let mut squares = vec![1e-4_f32; 1 << BITS];
    for _ in 0..EPOCHS {
        random.shuffle(&mut examples);
        for example in &examples {
            step(weights, &mut squares, example);
        }
    }
}

fn step(weights: &mut Weights, squares: &mut [f32], example: &Example<'_>) {
    let features = &example.seen.readings[0];
    let (margin, length) = weights.sentence(features, example.at);
    let guess = 1.0 / (1.0 + (-margin).exp());
    let gradient = match example.is_asked {
        true => (guess - 1.0) * ASKED,
        false => guess,
    };
    if gradient.abs() < 1e-3 {
        return;
    }
    for hash in sentence_pieces(features, example.at) {
        let place = place(*hash);
        let weight = &mut weights.rows[place][FOREIGN];
        let slope = gradient / length + DECAY * *weight;
        squares[place] += slope * slope;
        *weight -= RATE * slope / squares[place].sqrt();
    }
    weights.bias[FOREIGN] -= 0.02 * gradient;
}

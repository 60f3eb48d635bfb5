//! Classes of words: spherical k-means over the word vectors of navec, and over what the first layer
//! of the slovnet tagger makes of them, so that words of one class play the same part in names.

use crate::random::Random;
use crate::read;
use std::path::Path;

const NEAR: usize = 1024;
const ROLE: usize = 512;
const ROUNDS: usize = 12;

/// A word, how frequent it is (0 is the most frequent), its classes from 1 on.
pub struct Class {
    pub word: String,
    pub rank: usize,
    pub near: u16,
    pub role: u16,
}

pub fn classes(navec: &Path, slovnet: &Path) -> Vec<Class> {
    let files = read::tar(navec);
    let file = |name: &str| &files.iter().find(|(file, _)| file == name).expect("file").1;
    let vocabulary = read::gunzip(file("vocab.bin"));
    let count = u32::from_le_bytes(vocabulary[..4].try_into().unwrap()) as usize;
    let number =
        |at: usize| u32::from_le_bytes(vocabulary[4 + 4 * at..8 + 4 * at].try_into().unwrap());
    let words = std::str::from_utf8(&vocabulary[4 + 4 * count..]).expect("words");
    let words: Vec<&str> = words.lines().collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| std::cmp::Reverse(number(*at)));
    let mut rank = vec![0; count];
    for (place, at) in order.iter().enumerate() {
        rank[*at] = place;
    }
    let quantised = Quantised::new(file("pq.bin"));
    eprintln!("vectors: {} of {}", quantised.count, quantised.dim);
    let mut vectors = quantised.vectors();
    let roles = project(&vectors, quantised.dim, slovnet);
    normalise(&mut vectors, quantised.dim);
    let near = k_means(&vectors, quantised.dim, NEAR, &order);
    let mut projected = roles.0;
    normalise(&mut projected, roles.1);
    let role = k_means(&projected, roles.1, ROLE, &order);
    let skip = ["<unk>", "<pad>"];
    (0..count)
        .filter(|at| !skip.contains(&words[*at]))
        .map(|at| Class {
            word: words[at].to_owned(),
            rank: rank[at],
            near: near[at] as u16 + 1,
            role: role[at] as u16 + 1,
        })
        .collect()
}

struct Quantised {
    count: usize,
    dim: usize,
    parts: usize,
    indexes: Vec<u8>,
    codes: Vec<f32>,
}

impl Quantised {
    fn new(bytes: &[u8]) -> Self {
        let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
            read::gunzip(bytes)
        } else {
            bytes.to_vec()
        };
        let number =
            |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap()) as usize;
        let (count, dim, parts, centroids) = (number(0), number(1), number(2), number(3));
        let indexes = bytes[16..16 + count * parts].to_vec();
        let codes = floats(&bytes[16 + count * parts..]);
        assert_eq!(codes.len(), centroids * dim);
        Self {
            count,
            dim,
            parts,
            indexes,
            codes,
        }
    }

    fn vectors(&self) -> Vec<f32> {
        let width = self.dim / self.parts;
        let centroids = self.codes.len() / self.dim;
        let mut out = Vec::with_capacity(self.count * self.dim);
        for row in self.indexes.chunks_exact(self.parts) {
            for (part, code) in row.iter().enumerate() {
                let at = (part * centroids + usize::from(*code)) * width;
                out.extend_from_slice(&self.codes[at..at + width]);
            }
        }
        out
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let chunks = bytes.chunks_exact(4);
    chunks
        .map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap()))
        .collect()
}

/// The middle tap of the first convolution over the word vectors, behind the rectifier.
fn project(vectors: &[f32], dim: usize, slovnet: &Path) -> (Vec<f32>, usize) {
    let files = read::tar(slovnet);
    let array = |name: &str| {
        floats(
            &files
                .iter()
                .find(|(file, _)| file == name)
                .expect("array")
                .1,
        )
    };
    let weights = array("arrays/1.bin");
    let width = 256;
    let inputs = weights.len() / width / 3;
    let rows: Vec<Vec<f32>> = (0..width)
        .map(|row| {
            (0..dim)
                .map(|at| weights[(row * inputs + at) * 3 + 1])
                .collect()
        })
        .collect();
    let mut out = Vec::with_capacity(vectors.len() / dim * width);
    for vector in vectors.chunks_exact(dim) {
        out.extend(rows.iter().map(|row| dot(row, vector)));
    }
    (out, width)
}

fn normalise(vectors: &mut [f32], dim: usize) {
    for vector in vectors.chunks_exact_mut(dim) {
        let length = dot(vector, vector).sqrt().max(1e-9);
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = left
        .remainder()
        .iter()
        .zip(right.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in left.zip(right) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Centres are found on the most frequent words, then every word is put to the nearest.
fn k_means(vectors: &[f32], dim: usize, count: usize, order: &[usize]) -> Vec<usize> {
    const SAMPLE: usize = 60_000;
    let sample = &order[..order.len().min(SAMPLE)];
    let vector = |at: usize| &vectors[at * dim..(at + 1) * dim];
    let mut random = Random::new(7);
    let mut centres: Vec<f32> = Vec::new();
    for _ in 0..count {
        centres.extend_from_slice(vector(*random.pick(sample)));
    }
    for round in 0..ROUNDS {
        let mut sums = vec![0.0_f32; count * dim];
        let mut total = 0.0;
        for at in sample {
            let (best, score) = nearest(&centres, vector(*at), dim);
            total += score;
            let sum = &mut sums[best * dim..(best + 1) * dim];
            sum.iter_mut()
                .zip(vector(*at))
                .for_each(|(sum, value)| *sum += value);
        }
        for centre in 0..count {
            let sum = &mut sums[centre * dim..(centre + 1) * dim];
            if sum.iter().all(|value| *value == 0.0) {
                sum.copy_from_slice(vector(*random.pick(sample)));
            }
        }
        centres = sums;
        normalise(&mut centres, dim);
        eprintln!(
            "classes {count}, round {round}: {:.4}",
            total / sample.len() as f32
        );
    }
    (0..vectors.len() / dim)
        .map(|at| nearest(&centres, vector(at), dim).0)
        .collect()
}

fn nearest(centres: &[f32], vector: &[f32], dim: usize) -> (usize, f32) {
    let scores = centres.chunks_exact(dim).map(|centre| dot(centre, vector));
    scores.enumerate().fold((0, f32::MIN), |best, (at, score)| {
        if score > best.1 { (at, score) } else { best }
    })
}

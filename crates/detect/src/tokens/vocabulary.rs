//! One vocabulary of byte-pair encoding: which byte strings are tokens, and how many tokens a piece of
//! text becomes. A token's number is its rank: of all neighbors that can be merged, those with the
//! lowest rank are merged first, the leftmost first among equals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No token, or an empty slot.
const NONE: u32 = u32::MAX;
/// Pieces up to this many bytes are merged in arrays; longer ones with a heap, so that time stays
/// O(n log n) whatever the text.
const SHORT: usize = 64;

/// Tokens and an index of them by their bytes.
pub(super) struct Vocabulary {
    /// All tokens, one behind another, in the order of their ranks.
    bytes: Vec<u8>,
    /// Where each token ends in `bytes`.
    ends: Vec<u32>,
    /// Tokens by hash, linear probing; the length is a power of two.
    slots: Vec<Slot>,
    /// Ranks of the tokens of two bytes, by those bytes.
    pairs: Vec<u32>,
    /// Bytes of the longest token.
    longest: usize,
}

/// A place of the index; one that is empty has the rank [`NONE`].
#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    rank: u32,
}

/// What tells tokens apart: for those of up to eight bytes the bytes themselves, for longer ones a hash,
/// so that their bytes are compared as well.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    word: u64,
    length: u32,
}

impl Vocabulary {
    /// Reads a vocabulary: for each token one byte with its length and then its bytes. A damaged file
    /// gives what could be read; the tests rule that out for the files of this crate.
    pub(super) fn new(file: &[u8]) -> Self {
        let mut vocabulary = Self {
            bytes: Vec::with_capacity(file.len()),
            ends: Vec::new(),
            slots: Vec::new(),
            pairs: vec![NONE; 1 << 16],
            longest: 0,
        };
        let mut rest = file;
        while let Some((length, tail)) = rest.split_first() {
            let Some((token, tail)) = tail.split_at_checked(usize::from(*length)) else {
                break;
            };
            vocabulary.bytes.extend_from_slice(token);
            vocabulary.ends.push(vocabulary.bytes.len() as u32);
            vocabulary.longest = vocabulary.longest.max(token.len());
            rest = tail;
        }
        vocabulary.index();
        vocabulary
    }

    fn index(&mut self) {
        let size = (self.ends.len() * 2).next_power_of_two().max(2);
        let empty = Slot {
            key: Key { word: 0, length: 0 },
            rank: NONE,
        };
        self.slots = vec![empty; size];
        let (mut rank, mut start) = (0, 0);
        for end in &self.ends {
            let token = &self.bytes[start..*end as usize];
            if let [one, two] = *token {
                self.pairs[pair(one, two)] = rank;
            }
            let key = Key::of(token);
            let mut at = key.place() & (size - 1);
            while self.slots[at].rank != NONE {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = Slot { key, rank };
            (rank, start) = (rank + 1, *end as usize);
        }
    }

    /// How many tokens there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn token(&self, rank: u32) -> &[u8] {
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[rank] as usize]
    }

    fn token_length(&self, rank: u32) -> usize {
        self.token(rank).len()
    }

    /// The rank of the token with these bytes; `NONE` where they are no token.
    fn rank(&self, bytes: &[u8]) -> u32 {
        if let [one, two] = *bytes {
            return self.pairs[pair(one, two)];
        }
        if bytes.len() > self.longest {
            return NONE;
        }
        let key = Key::of(bytes);
        let mut at = key.place() & (self.slots.len() - 1);
        loop {
            let slot = self.slots[at];
            let is_same = slot.key == key
                && (bytes.len() <= 8 || slot.rank == NONE || self.token(slot.rank) == bytes);
            if slot.rank == NONE || is_same {
                return slot.rank;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Tokens of one piece, which is not empty.
    pub(super) fn count(&self, piece: &[u8]) -> usize {
        match piece.len() {
            0 | 1 => piece.len(),
            _ if self.rank(piece) != NONE => 1,
            2..=SHORT => self.count_short(piece),
            _ => self.count_long(piece),
        }
    }

    /// Keeps the parts and the rank of each with its right neighbor, and merges the lowest rank as long
    /// as there is one.
    fn count_short(&self, piece: &[u8]) -> usize {
        let mut starts = [0_u8; SHORT + 1];
        let mut ranks = [NONE; SHORT];
        let mut parts = piece.len();
        for (at, start) in starts[..=parts].iter_mut().enumerate() {
            *start = at as u8;
        }
        for (rank, bytes) in ranks.iter_mut().zip(piece.windows(2)) {
            *rank = self.pairs[pair(bytes[0], bytes[1])];
        }
        loop {
            let (mut at, mut lowest) = (0, NONE);
            for (place, rank) in ranks[..parts - 1].iter().enumerate() {
                if *rank < lowest {
                    (at, lowest) = (place, *rank);
                }
            }
            if lowest == NONE {
                return parts;
            }
            // The part at `at` takes in its right neighbor.
            starts.copy_within(at + 2..=parts, at + 1);
            ranks.copy_within(at + 1..parts, at);
            parts -= 1;
            let merged = |left: usize| match left + 2 <= parts {
                true => self.rank(&piece[usize::from(starts[left])..usize::from(starts[left + 2])]),
                false => NONE,
            };
            ranks[at] = merged(at);
            if let Some(before) = at.checked_sub(1) {
                ranks[before] = merged(before);
            }
        }
    }

    /// The same with a heap of candidates and one bit for each place where a part begins.
    fn count_long(&self, piece: &[u8]) -> usize {
        let mut starts = Starts::new(piece.len());
        let mut parts = piece.len();
        let candidate = |rank: u32, start: usize| Reverse(u64::from(rank) << 32 | start as u64);
        let pairs = piece.windows(2).enumerate();
        let pairs = pairs.map(|(start, bytes)| (self.pairs[pair(bytes[0], bytes[1])], start));
        let candidates = pairs.filter(|(rank, _)| *rank != NONE);
        let candidates: Vec<_> = candidates
            .map(|(rank, start)| candidate(rank, start))
            .collect();
        let mut heap = BinaryHeap::from(candidates);
        while let Some(Reverse(lowest)) = heap.pop() {
            let (rank, start) = ((lowest >> 32) as u32, (lowest & 0xffff_ffff) as usize);
            if !starts.has(start) {
                continue;
            }
            let middle = starts.next(start);
            let end = match middle < piece.len() {
                true => starts.next(middle),
                false => continue,
            };
            // A candidate from before a merge has another length than what stands there now.
            if self.token_length(rank) != end - start {
                continue;
            }
            starts.remove(middle);
            parts -= 1;
            if end < piece.len() {
                let rank = self.rank(&piece[start..starts.next(end)]);
                if rank != NONE {
                    heap.push(candidate(rank, start));
                }
            }
            if let Some(before) = starts.previous(start) {
                let rank = self.rank(&piece[before..end]);
                if rank != NONE {
                    heap.push(candidate(rank, before));
                }
            }
        }
        parts
    }
}

fn pair(one: u8, two: u8) -> usize {
    usize::from(one) << 8 | usize::from(two)
}

impl Key {
    fn of(bytes: &[u8]) -> Self {
        let length = bytes.len() as u32;
        let four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
        let word = match (bytes.first_chunk(), bytes.last_chunk()) {
            // From four to seven bytes the two halves overlap.
            (Some(first), Some(last)) if length <= 8 => four(first) | four(last) << 32,
            (Some(_), _) => long(bytes),
            _ => bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        Self { word, length }
    }

    /// Well mixed in the lower bits.
    fn place(self) -> usize {
        let mixed = (self.word ^ u64::from(self.length)).wrapping_mul(FACTOR);
        (mixed >> 32) as usize
    }
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of more than eight bytes, eight at a time; the last eight overlap those before.
fn long(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: [u8; 8]| {
        let hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        hash ^ hash >> 32
    };
    let (words, _) = bytes.as_chunks();
    let hash = words.iter().fold(0, |hash, word| step(hash, *word));
    bytes.last_chunk().map_or(hash, |last| step(hash, *last))
}

/// The places of a piece where a part begins, one bit each; its end counts as one.
struct Starts {
    words: Vec<u64>,
    end: usize,
}

impl Starts {
    /// Every place is one.
    fn new(length: usize) -> Self {
        Self {
            words: vec![u64::MAX; length / 64 + 1],
            end: length,
        }
    }

    fn has(&self, at: usize) -> bool {
        self.words[at / 64] & 1 << (at % 64) != 0
    }

    fn remove(&mut self, at: usize) {
        self.words[at / 64] &= !(1 << (at % 64));
    }

    /// The first place behind `at`.
    fn next(&self, at: usize) -> usize {
        let from = at + 1;
        let mut word = from / 64;
        let mut bits = match self.words.get(word) {
            Some(bits) => bits & u64::MAX << (from % 64),
            None => return self.end,
        };
        while bits == 0 {
            word += 1;
            match self.words.get(word) {
                Some(next) => bits = *next,
                None => return self.end,
            }
        }
        (word * 64 + bits.trailing_zeros() as usize).min(self.end)
    }

    /// The last place before `at`.
    fn previous(&self, at: usize) -> Option<usize> {
        let upto = at.checked_sub(1)?;
        let mut word = upto / 64;
        let mut bits = self.words[word] & u64::MAX >> (63 - upto % 64);
        while bits == 0 {
            word = word.checked_sub(1)?;
            bits = self.words[word];
        }
        Some(word * 64 + 63 - bits.leading_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a, b, c and a few merges of them.
    fn small() -> Vocabulary {
        let tokens = ["a", "b", "c", "ab", "bc", "abc", "aa", "aaaa"];
        let file: Vec<u8> = tokens
            .iter()
            .flat_map(|token| std::iter::once(token.len() as u8).chain(token.bytes()))
            .collect();
        Vocabulary::new(&file)
    }

    #[test]
    fn the_lowest_rank_is_merged_first_and_the_leftmost_among_equals() {
        let vocabulary = small();
        for (piece, tokens) in [
            ("a", 1),
            ("abc", 1),
            ("bcb", 2),
            ("aab", 2),
            ("aaaaa", 2),
            ("cab", 2),
            ("aaa", 2),
        ] {
            assert_eq!(vocabulary.count(piece.as_bytes()), tokens, "{piece}");
        }
    }

    #[test]
    fn both_ways_of_merging_count_the_same() {
        let vocabulary = small();
        let mut seed = 7_u64;
        for length in 2..=SHORT {
            for _ in 0..50 {
                let letter = |_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    b"abc"[(seed >> 33) as usize % 3]
                };
                let piece: Vec<u8> = (0..length).map(letter).collect();
                let (short, long) = (
                    vocabulary.count_short(&piece),
                    vocabulary.count_long(&piece),
                );
                assert_eq!(short, long, "{piece:?}");
            }
        }
    }
}

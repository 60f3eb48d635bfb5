//! One vocabulary of byte-pair encoding: which byte strings are tokens, and how many tokens a piece of
//! text becomes. A token's number is its rank: of all neighbors that can be merged, those with the
//! lowest rank are merged first, the leftmost first among equals.

use super::borders::Borders;
use super::earlier::Earlier;
use super::edges::{Edges, Padded};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No token, or an empty slot.
const NONE: u32 = u32::MAX;
const FILTER_BITS: usize = 1 << 21;
/// Pieces up to this many bytes are merged at once; longer ones window by window.
const SHORT: usize = Padded::MOST;
/// How many bytes a window has at least, and how many of them behind the tokens that it reads again.
const WINDOW: usize = 48;
const STEP: usize = 24;
/// How many of the last tokens the next window reads again.
const OVERLAP: usize = 4;
/// A piece for which a longer window would be needed is merged as a whole.
const LONGEST_WINDOW: usize = 4096;

/// Tokens and an index of them by their bytes.
pub(super) struct Vocabulary {
    /// All tokens, one behind another, in the order of their ranks.
    bytes: Vec<u8>,
    /// Where each token ends in `bytes`.
    ends: Vec<u32>,
    /// The index: linear probing, the length is a power of two.
    slots: Vec<Slot>,
    /// One bit for each hash of a token. It is small enough to stay in the cache and answers most look-ups,
    /// since most of them find nothing.
    filter: Vec<u64>,
    /// Ranks of the tokens of two bytes, by those bytes.
    pairs: Vec<u32>,
}

/// A place of the index; one that is empty has the rank [`NONE`].
#[derive(Clone, Copy)]
struct Slot {
    edges: Edges,
    rank: u32,
}

impl Vocabulary {
    /// Reads a vocabulary: for each token one byte with its length and then its bytes. A damaged file
    /// gives what could be read; the tests rule that out for the files of this crate.
    pub(super) fn new(file: &[u8]) -> Self {
        let mut vocabulary = Self {
            bytes: Vec::with_capacity(file.len()),
            ends: Vec::new(),
            slots: Vec::new(),
            filter: vec![0; FILTER_BITS / 64],
            pairs: vec![NONE; 1 << 16],
        };
        let mut rest = file;
        while let Some((length, tail)) = rest.split_first() {
            let Some((token, tail)) = tail.split_at_checked(usize::from(*length)) else {
                break;
            };
            vocabulary.bytes.extend_from_slice(token);
            vocabulary.ends.push(vocabulary.bytes.len() as u32);
            rest = tail;
        }
        vocabulary.index();
        vocabulary
    }

    fn index(&mut self) {
        let count = self.ends.len();
        let size = (count * 2).next_power_of_two().max(2);
        let empty = Slot {
            edges: Edges::default(),
            rank: NONE,
        };
        self.slots = vec![empty; size];
        for rank in 0..count as u32 {
            let token = self.token(rank);
            let edges = Edges::of(token);
            if let [one, two] = *token {
                self.pairs[pair(one, two)] = rank;
            }
            let hash = edges.hash();
            let (word, bit) = filter_bit(hash);
            self.filter[word] |= bit;
            let mut at = hash as usize & (size - 1);
            while self.slots[at].rank != NONE {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = Slot { edges, rank };
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

    /// The rank of the token with these bytes; `NONE` where they are no token.
    fn rank(&self, bytes: &[u8]) -> u32 {
        self.look_up(Edges::of(bytes), bytes)
    }

    /// The same for a caller that has the edges.
    #[inline]
    fn look_up(&self, edges: Edges, bytes: &[u8]) -> u32 {
        let hash = edges.hash();
        let (word, bit) = filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return NONE;
        }
        let mut at = hash as usize & (self.slots.len() - 1);
        loop {
            let slot = &self.slots[at];
            let is_same = slot.edges == edges
                && (bytes.len() <= Edges::EXACT
                    || slot.rank == NONE
                    || self.token(slot.rank) == bytes);
            if is_same || slot.rank == NONE {
                return slot.rank;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Tokens of one piece.
    pub(super) fn count<'t>(&self, piece: &'t [u8], earlier: &mut Earlier<'t>) -> usize {
        if piece.len() < 2 {
            return piece.len();
        }
        let edges = Edges::of(piece);
        if self.look_up(edges, piece) != NONE {
            return 1;
        }
        if piece.len() > SHORT {
            return self.count_long(piece);
        }
        let merge = || self.merge_short(piece).count_ones() as usize;
        earlier.tokens_of(piece, edges, merge)
    }

    /// Merges a piece of at most 64 bytes: as long as there is a candidate, the one with the lowest rank.
    /// The bits of the result say where the tokens begin.
    fn merge_short(&self, piece: &[u8]) -> u64 {
        let padded = Padded::new(piece);
        // Rank and place in one number, so that the lowest is the leftmost among equals.
        // Signed, because every x86-64 processor compares several such numbers at once.
        let numbered = |rank: u32, start: usize| match rank {
            NONE => i32::MAX,
            rank => (rank << 6) as i32 | start as i32,
        };
        let candidate = |start: usize, end: usize| {
            let rank = self.look_up(padded.edges(start, end), &piece[start..end]);
            numbered(rank, start)
        };
        let mut candidates = [i32::MAX; SHORT];
        for (start, (place, bytes)) in candidates.iter_mut().zip(piece.windows(2)).enumerate() {
            *place = numbered(self.pairs[pair(bytes[0], bytes[1])], start);
        }
        let length = piece.len();
        let mut starts = u64::MAX >> (SHORT - length);
        let next = |starts: u64, at: usize| match starts & (u64::MAX - 1) << at {
            0 => length,
            behind => behind.trailing_zeros() as usize,
        };
        let groups = length.next_multiple_of(8);
        loop {
            let lowest = candidates[..groups].iter().fold(i32::MAX, |a, b| a.min(*b));
            if lowest == i32::MAX {
                return starts;
            }
            // The part at `at` takes in its right neighbor.
            let at = (lowest & 63) as usize;
            let middle = next(starts, at);
            starts &= !(1 << middle);
            candidates[middle] = i32::MAX;
            let end = next(starts, at);
            candidates[at] = match end < length {
                true => candidate(at, next(starts, end)),
                false => i32::MAX,
            };
            let before = starts & ((1 << at) - 1);
            if before != 0 {
                let before = 63 - before.leading_zeros() as usize;
                candidates[before] = candidate(before, end);
            }
        }
    }

    /// Counts window by window, in linear time. Tokens depend on what follows, but hardly ever on more than
    /// the next few. Each window therefore begins with the last tokens of the one before. If the first of
    /// them comes out again, the tokens before it and those of the window are the tokens of both together:
    /// the first merge across one of their borders would also be made in one of the two alone. If not, the
    /// window is extended to the left. A run that repeats itself gives the same window again and again,
    /// which is merged once.
    fn count_long(&self, piece: &[u8]) -> usize {
        let mut borders = Borders::new(piece.len());
        let (mut from, mut end) = (0, 0);
        let mut last = Window::default();
        while end < piece.len() {
            let to = (from + WINDOW)
                .max(end + STEP.max(end - from))
                .min(piece.len());
            loop {
                let bytes = &piece[from..to];
                if bytes != &piece[last.from..last.to] {
                    last.merged = self.merge(bytes);
                }
                (last.from, last.to) = (from, to);
                let first = last.merged.next(0);
                if from == 0 || from + first == borders.next(from) {
                    break;
                }
                if to - from > LONGEST_WINDOW {
                    return self.merge_long(piece).count();
                }
                let doubled = from.saturating_sub(to - from);
                while from > doubled {
                    from = borders.previous(from).unwrap_or(0);
                }
            }
            borders.put(from, &last.merged);
            end = to;
            from = end;
            for _ in 0..OVERLAP {
                from = borders.previous(from).unwrap_or(0);
            }
        }
        borders.count()
    }

    fn merge(&self, piece: &[u8]) -> Borders {
        match piece.len() {
            0..=SHORT => Borders::short(self.merge_short(piece), piece.len()),
            _ => self.merge_long(piece),
        }
    }

    /// Merges any piece, with a heap of candidates, in O(n log n).
    fn merge_long(&self, piece: &[u8]) -> Borders {
        let mut starts = Borders::new(piece.len());
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
            if self.token(rank).len() != end - start {
                continue;
            }
            starts.remove(middle);
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
        starts
    }
}

/// A stretch of a piece and where its tokens begin.
#[derive(Default)]
struct Window {
    from: usize,
    to: usize,
    merged: Borders,
}

fn pair(one: u8, two: u8) -> usize {
    usize::from(one) << 8 | usize::from(two)
}

/// The place of a hash in the filter.
fn filter_bit(hash: u64) -> (usize, u64) {
    let at = (hash >> 24) as usize % FILTER_BITS;
    (at / 64, 1 << (at % 64))
}

#[cfg(test)]
mod tests;

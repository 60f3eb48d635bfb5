//! Byte strings as numbers, for the index of a vocabulary.

/// What tells byte strings apart: the first eight bytes, and the rest of those of up to fifteen with their
/// number. Longer ones have their last bytes there, so that all their bytes are compared as well.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Edges {
    first: u64,
    last: u64,
}

impl Edges {
    /// Strings of up to so many bytes are equal if their edges are.
    pub(super) const EXACT: usize = 15;

    pub(super) fn of(bytes: &[u8]) -> Self {
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            return Self::new(first, last, bytes.len());
        }
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        Self::new(u64::from_le_bytes(whole), 0, bytes.len())
    }

    /// Of the first and the last eight bytes of a string that is not empty. What a shorter one has beyond
    /// its end or before its beginning does not matter.
    #[inline]
    fn new(first: u64, last: u64, length: usize) -> Self {
        let (first, last, number) = match length {
            0..8 => (first & ((1 << (8 * length)) - 1), 0, length as u64),
            // The shift by up to 64 bits is done in two.
            8..=Self::EXACT => (first, last >> 1 >> (127 - 8 * length), length as u64),
            _ => (first, last & u64::MAX >> 8, 0xff),
        };
        Self {
            first,
            last: last | number << 56,
        }
    }

    #[inline]
    pub(super) fn hash(self) -> u64 {
        mixed(mixed(self.first ^ FACTOR) ^ self.last)
    }
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The low and the high half of a product, together.
fn mixed(word: u64) -> u64 {
    let product = u128::from(word) * u128::from(FACTOR);
    product as u64 ^ (product >> 64) as u64
}

/// A short piece with eight bytes before and behind it, so that edges are read without branches.
pub(super) struct Padded([u8; Padded::MOST + 16]);

impl Padded {
    /// The most bytes of a short piece.
    pub(super) const MOST: usize = 64;

    pub(super) fn new(piece: &[u8]) -> Self {
        let mut padded = [0; Self::MOST + 16];
        padded[8..8 + piece.len()].copy_from_slice(piece);
        Self(padded)
    }

    #[inline]
    pub(super) fn edges(&self, start: usize, end: usize) -> Edges {
        let read = |at: usize| {
            let bytes = self.0.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        Edges::new(read(start + 8), read(end), end - start)
    }
}

//! The letters of a word as a hash, read up to eight bytes at a time, and the classes of bytes that
//! begin words, numbers and signs.

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of the letters so far. Starts as `Hash::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Hash {
    /// The number that a table keeps.
    #[inline]
    pub(super) fn value(self) -> u64 {
        self.0
    }

    /// Takes in one letter beyond ASCII as a byte of its own, or up to eight of ASCII in small letters.
    #[inline]
    pub(super) fn with(self, letters: u64) -> Self {
        Self((self.0 ^ letters).wrapping_mul(FACTOR))
    }
}

/// A Russian letter of two bytes, led by 0xd0 or 0xd1, as one byte: upper and lower case alike, "ё"
/// like "е". Zero for any other.
#[inline]
pub(super) fn russian(lead: u8, second: u8) -> u8 {
    RUSSIAN[usize::from(lead & 1) << 6 | usize::from(second & 0x3f)]
}

const RUSSIAN: [u8; 128] = {
    let mut letters = [0; 128];
    let mut at = 0;
    while at < 32 {
        let letter = 0x80 + at as u8;
        // Capitals follow each other under 0xd0; the small ones begin there and go on under 0xd1.
        letters[0x10 + at] = letter;
        letters[0x30 + at] = letter;
        at += 1;
    }
    letters[0x01] = 0x85;
    letters[0x51] = 0x85;
    letters
};

/// The end of the word that begins here, and its hash.
#[inline]
pub(super) fn letters(bytes: &[u8], mut at: usize) -> (usize, Hash) {
    let mut hash = Hash::default();
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_alphabetic() {
            let (length, letters) = latin(&bytes[at..]);
            hash = hash.with(letters);
            at += length;
        } else if byte & 0xfe == 0xd0 {
            let second = bytes.get(at + 1).copied().unwrap_or_default();
            hash = hash.with(u64::from(russian(byte, second)));
            at += 2;
        } else if matches!(CLASSES[usize::from(byte)], Class::Letter) {
            hash = hash.with(u64::from(byte));
            at += 1;
        } else {
            break;
        }
    }
    (at.min(bytes.len()), hash)
}

/// Up to eight letters of ASCII at once, in small letters, and how many: words end too irregularly to
/// be gone through letter by letter.
#[inline]
fn latin(bytes: &[u8]) -> (usize, u64) {
    const EVERY: u64 = 0x0101_0101_0101_0101;
    let chunk = match bytes.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(eight)
        }
    };
    let small = chunk | (0x20 * EVERY);
    let low = small & (0x7f * EVERY);
    // The high bit of a byte: at least "a", beyond "z", beyond ASCII.
    let (from_a, beyond_z) = (low + 0x1f * EVERY, low + 0x05 * EVERY);
    let others = !(from_a & !beyond_z & !chunk) & (0x80 * EVERY);
    let length = (others.trailing_zeros() / 8) as usize;
    let kept = match length {
        8 => small,
        _ => small & ((1 << (8 * length)) - 1),
    };
    (length, kept)
}

#[derive(Clone, Copy)]
pub(super) enum Class {
    Other,
    Digit,
    /// A byte of a letter, beyond ASCII too.
    Letter,
    /// A currency's sign, or the first byte of punctuation or a picture beyond ASCII.
    Symbol,
}

pub(super) const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut at = 0;
    while at < 256 {
        classes[at] = match at as u8 {
            b'0'..=b'9' => Class::Digit,
            b'$' | 0xc2 | 0xe2 | 0xf0.. => Class::Symbol,
            b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => Class::Letter,
            _ => Class::Other,
        };
        at += 1;
    }
    classes
};

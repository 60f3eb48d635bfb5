//! Classes of English words that stand in the same places, so that what is learnt of `ignore` is known of
//! `disregard`. The table is made by the trainer from word vectors; the words themselves are not in it, only
//! their hashes. Shared with the trainer, by path.

use std::sync::LazyLock;

static TABLE: &[u8] = include_bytes!("weights/classes.bin");
/// Bytes of a row: hash, fine class, coarse class.
pub(crate) const ROW: usize = 4 + 2 + 1;
/// Classes of signs and numbers begin here.
const SIGNS: u32 = 1 << 16;

/// The classes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// One of about a thousand.
    pub(crate) fine: u32,
    /// One of fewer than two hundred and fifty-six.
    pub(crate) coarse: u32,
}

impl Class {
    /// A sign is a class of its own.
    pub(crate) fn of_sign(hash: u32) -> Self {
        Self {
            fine: SIGNS | hash & 0xffff,
            coarse: SIGNS | hash & 0xffff,
        }
    }
}

/// Rows by hash, each where its hash says or behind it.
struct Slots {
    rows: Vec<(u32, u16, u16)>,
    shift: u32,
}

static SLOTS: LazyLock<Slots> = LazyLock::new(|| Slots::new(TABLE));

impl Slots {
    fn new(table: &[u8]) -> Self {
        let size = (table.len() / ROW * 2 + 2).next_power_of_two();
        let shift = 32 - size.trailing_zeros();
        let mut slots = Self {
            rows: vec![(0, 0, 0); size],
            shift,
        };
        for row in table.as_chunks::<ROW>().0 {
            let [a, b, c, d, e, f, coarse] = *row;
            let hash = u32::from_le_bytes([a, b, c, d]);
            let mut at = slots.place(hash);
            while slots.rows[at].1 != 0 {
                at = (at + 1) % size;
            }
            slots.rows[at] = (hash, u16::from_le_bytes([e, f]), u16::from(coarse));
        }
        slots
    }

    fn place(&self, hash: u32) -> usize {
        (hash.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }
}

/// The class of the word with this hash; None for a word that is not in the table.
pub(crate) fn class(hash: u32) -> Option<Class> {
    let slots = &*SLOTS;
    let mut at = slots.place(hash);
    loop {
        let (other, fine, coarse) = *slots.rows.get(at)?;
        match (fine, other == hash) {
            (0, _) => return None,
            (_, true) => {
                return Some(Class {
                    fine: u32::from(fine),
                    coarse: u32::from(coarse),
                });
            }
            _ => at = (at + 1) % slots.rows.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::word_hash;
    use super::*;

    #[test]
    fn words_of_a_like_meaning_are_of_one_class_and_unknown_ones_of_none() {
        let coarse = |word: &str| class(word_hash(word)).map(|class| class.coarse);
        assert!(coarse("monday").is_some());
        assert_eq!(coarse("monday"), coarse("tuesday"));
        assert_ne!(coarse("monday"), coarse("steal"));
        assert_eq!(coarse("qzxvbn"), None);
        assert_eq!(coarse("инструкция"), None);
    }
}

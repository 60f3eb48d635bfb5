//! Chance that is the same for the same seed (SplitMix64).

use std::ops::RangeInclusive;

pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of a range.
    pub(super) fn of(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (first, last) = range.into_inner();
        first + self.roll() % (last - first + 1)
    }

    /// True in so many of a hundred cases.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.of(1..=100) <= share
    }

    /// One of a list; None of an empty one.
    pub(super) fn one<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        let last = (list.len() as u64).checked_sub(1)?;
        list.get(self.of(0..=last) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_within_their_range() {
        let numbers = |seed| {
            let mut dice = Dice::new(seed);
            (0..50).map(|_| dice.of(3..=9)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert!(numbers(1).iter().all(|number| (3..=9).contains(number)));
        assert_eq!(Dice::new(1).one::<u8>(&[]), None);
    }
}

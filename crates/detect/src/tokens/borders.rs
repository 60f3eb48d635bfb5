//! Where the tokens of a piece begin.

/// The places of a piece where a token begins, one bit each; its end counts as one.
#[derive(Default)]
pub(super) struct Borders {
    words: Vec<u64>,
    end: usize,
}

impl Borders {
    /// Every place is one.
    pub(super) fn new(length: usize) -> Self {
        let mut words = vec![u64::MAX; length.div_ceil(64)];
        if !length.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = u64::MAX >> (64 - length % 64);
        }
        Self { words, end: length }
    }

    /// Those of a piece of at most 64 bytes.
    pub(super) fn short(starts: u64, length: usize) -> Self {
        Self {
            words: vec![starts],
            end: length,
        }
    }

    /// How many tokens there are.
    pub(super) fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    pub(super) fn has(&self, at: usize) -> bool {
        self.words[at / 64] & 1 << (at % 64) != 0
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.words[at / 64] &= !(1 << (at % 64));
    }

    /// Replaces those of a stretch.
    pub(super) fn put(&mut self, from: usize, stretch: &Self) {
        let (first, shift) = (from / 64, from % 64);
        for (at, bits) in stretch.words.iter().enumerate() {
            let length = (stretch.end - 64 * at).min(64);
            let mask = u64::MAX >> (64 - length);
            let word = &mut self.words[first + at];
            *word = *word & !(mask << shift) | bits << shift;
            if shift + length > 64 {
                let word = &mut self.words[first + at + 1];
                *word = *word & !(mask >> (64 - shift)) | bits >> (64 - shift);
            }
        }
    }

    /// The first place behind `at`.
    pub(super) fn next(&self, at: usize) -> usize {
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
        word * 64 + bits.trailing_zeros() as usize
    }

    /// The last place before `at`.
    pub(super) fn previous(&self, at: usize) -> Option<usize> {
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

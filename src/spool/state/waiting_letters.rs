//! Dead letters that wait for the writer.
//!
//! Invariant: `bytes` is their length, and within [`MAX_WAITING`] but for the last one.

use crate::spool::dead_letter::encoding::{EncodedLetter, MAX_WAITING};

#[derive(Default)]
pub(super) struct WaitingLetters {
    letters: Vec<EncodedLetter>,
    bytes: usize,
}

impl WaitingLetters {
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Takes a letter; false if the disk is behind and there is no room for it.
    pub(super) fn add(&mut self, letter: EncodedLetter) -> bool {
        if self.bytes > MAX_WAITING {
            return false;
        }
        self.bytes += letter.bytes.len();
        self.letters.push(letter);
        true
    }

    /// Hands all letters to the writer.
    pub(super) fn take(&mut self) -> Vec<EncodedLetter> {
        self.bytes = 0;
        std::mem::take(&mut self.letters)
    }
}

//! A place in a value that moves on over other values.

use super::View;
use crate::json::scan::notes;
use crate::json::text::plain_len;
use std::ops::Range;

/// Bytes of a string up to which it is walked before it is looked up among the notes.
const SHORT: usize = 64;
/// Steps over a container after which it is looked up.
const FEW_STEPS: usize = 24;

pub(super) struct Cursor<'a> {
    pub(super) view: View<'a>,
    pub(super) at: usize,
}

impl Cursor<'_> {
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.view.bytes.get(self.at).copied()
    }

    #[inline]
    pub(super) fn skip_separators(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r' | b',' | b':') = self.peek() {
            self.step(1);
        }
    }

    /// Goes on behind the next string that is no name.
    pub(super) fn next_string(&mut self) -> Option<Range<usize>> {
        loop {
            while !matches!(self.peek()?, b'"') {
                self.step(1);
            }
            let start = self.at;
            self.skip_string();
            let end = self.at;
            while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
                self.step(1);
            }
            if self.peek() != Some(b':') {
                return Some(start..end);
            }
        }
    }

    /// Steps over the value that begins here; an empty span where none does.
    #[inline]
    pub(super) fn skip_value(&mut self) -> Range<usize> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_container(),
            _ => self.skip_scalar(),
        }
        start..self.at
    }

    fn skip_scalar(&mut self) {
        while let Some(b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') = self.peek() {
            self.step(1);
        }
    }

    fn skip_container(&mut self) {
        let begin = self.at;
        // Most containers are short as well.
        let most = match self.view.notes.is_empty() {
            true => usize::MAX,
            false => FEW_STEPS,
        };
        if self.skip_to_end(most) {
            return;
        }
        if let Some(end) = notes::end_of(self.view.notes, self.view.at + begin) {
            return self.jump(end);
        }
        // What it holds may be noted.
        self.at = begin;
        let mut notes = notes::behind(self.view.notes, self.view.at + begin);
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => match notes::next_end_of(&mut notes, self.view.at + self.at) {
                    Some(end) => {
                        self.jump(end);
                        continue;
                    }
                    None => depth += 1,
                },
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.step(1);
            if depth == 0 {
                return;
            }
        }
    }

    /// Takes so many steps over a container at most. True at its end.
    fn skip_to_end(&mut self, most: usize) -> bool {
        let mut depth = 0usize;
        for _ in 0..most {
            match self.peek() {
                Some(b'"') => {
                    self.skip_string();
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth = depth.saturating_sub(1),
                Some(_) => {}
                None => return true,
            }
            self.step(1);
            if depth == 0 {
                return true;
            }
        }
        false
    }

    fn skip_string(&mut self) {
        let begin = self.at;
        self.step(1);
        // Most strings are short: walking one costs less than looking it up.
        if self.skip_inside(SHORT) {
            return;
        }
        match notes::end_of(self.view.notes, self.view.at + begin) {
            Some(end) => self.jump(end),
            None => {
                self.skip_inside(self.view.bytes.len());
            }
        }
    }

    /// Goes on at a place of the body.
    fn jump(&mut self, place: usize) {
        #[cfg(test)]
        steps::count(1);
        let place = place.saturating_sub(self.view.at);
        self.at = place.min(self.view.bytes.len());
    }

    /// Goes on behind so many bytes.
    #[inline]
    fn step(&mut self, bytes: usize) {
        #[cfg(test)]
        steps::count(bytes);
        self.at += bytes;
    }

    /// Steps over so many bytes of a string at most. True at its end.
    fn skip_inside(&mut self, most: usize) -> bool {
        let bytes = self.view.bytes;
        let limit = self.at.saturating_add(most).min(bytes.len());
        while let Some(rest) = bytes.get(self.at..limit) {
            let plain = plain_len(rest);
            match rest.get(plain) {
                Some(b'"') => {
                    self.step(plain + 1);
                    return true;
                }
                Some(b'\\') => self.step(plain + 2),
                Some(_) => self.step(plain + 1),
                None => {
                    self.step(limit - self.at);
                    break;
                }
            }
        }
        self.at = self.at.min(bytes.len());
        false
    }
}

/// Counts the bytes that cursors of this thread step over, and their jumps.
#[cfg(test)]
pub(crate) mod steps {
    use std::cell::Cell;

    thread_local!(static TAKEN: Cell<usize> = const { Cell::new(0) });

    pub(super) fn count(steps: usize) {
        TAKEN.set(TAKEN.get() + steps);
    }

    /// How many steps some work takes.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> usize {
        let before = TAKEN.get();
        work();
        TAKEN.get() - before
    }
}

//! Splits a text into the pieces that are encoded one by one, by the published patterns of the vocabularies.
//! They use a look-ahead, `\s+(?!\S)`, which linear-time regexes do not support. It is written as `\s+\s`,
//! whose last character is not part of the piece, and `\s+$` for the end.

use regex_automata::meta::{Cache, Regex};
use regex_automata::util::pool::Pool;
use regex_automata::{Anchored, Input};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The alternatives of `cl100k_base` before the look-ahead.
pub(super) const CL100K_BASE: &[&str] = &[
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+$",
];
/// The alternatives of `o200k_base` before the look-ahead.
pub(super) const O200K_BASE: &[&str] = &[
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+$",
];
/// The number of the pattern whose last character is given back.
const LOOK_AHEAD: usize = 1;

/// The patterns of a vocabulary, compiled, and what threads need to search with them.
pub(super) struct Splitter {
    patterns: Regex,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>,
}

impl Splitter {
    /// Compiles patterns that are tried in this order. None where one does not compile, which the tests
    /// rule out for those of this file.
    pub(super) fn new(alternatives: &[&str]) -> Option<Self> {
        let first = alternatives.join("|");
        let patterns = Regex::new_many(&[&first, r"\s+\s", r"\s+"]).ok()?;
        let own = patterns.clone();
        Some(Self {
            patterns,
            caches: Pool::new(Box::new(move || own.create_cache())),
        })
    }

    /// Hands over every piece of a text, in order. Linear.
    pub(super) fn each_piece<'t>(&self, text: &'t str, mut each: impl FnMut(&'t str)) {
        // One for the whole text: taking one for each piece would take longer than the search.
        let mut cache = self.caches.get();
        let mut rest = text;
        while !rest.is_empty() {
            let input = Input::new(rest).anchored(Anchored::Yes);
            let Some(found) = self.patterns.search_half_with(&mut cache, &input) else {
                return;
            };
            let mut end = found.offset();
            if found.pattern().as_usize() == LOOK_AHEAD {
                let last = rest[..end].chars().next_back();
                end -= last.map_or(0, char::len_utf8);
            }
            if end == 0 {
                return;
            }
            each(&rest[..end]);
            rest = &rest[end..];
        }
    }
}

//! Custom patterns (§2.8 `{name, regex}`): compiles them under a size limit and finds their matches in
//! bounded time, whatever the regex and the message. `overlap` decides which find wins.

use super::pooled_regex::{PooledRegex, Refused, WorkingMemory};
use crate::rules::CustomPattern;
use regex_automata::Input;
use regex_automata::util::syntax;
use std::sync::Arc;

/// A regex that counts with more is a large one, in bytes.
const LARGE: usize = 1 << 20;
/// One search looks at this much of a message, in bytes; the clock is read between searches.
const WINDOW: usize = 16 << 10;
/// The same for a large regex, whose every byte may cost much more.
pub(crate) const LARGE_WINDOW: usize = 4 << 10;

/// A compiled custom pattern.
#[derive(Clone, Debug)]
pub(crate) struct CustomRegex {
    /// The entity type of its finds.
    pub(crate) name: String,
    regex: PooledRegex,
    window: usize,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was looked at.
    AtTheEnd,
    /// The caller said stop.
    Stopped,
}

impl CustomRegex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with the regex, for whoever wrote it.
    pub(crate) fn new(
        pattern: &CustomPattern,
        memory: &Arc<WorkingMemory>,
    ) -> Result<Self, Refused> {
        let regex = compile(&pattern.regex, memory)?;
        Ok(Self {
            name: pattern.name.clone(),
            window: match regex.counted_bytes() > LARGE {
                true => LARGE_WINDOW,
                false => WINDOW,
            },
            regex,
        })
    }

    /// The regex as such.
    pub(crate) fn regex(&self) -> &PooledRegex {
        &self.regex
    }

    /// Gives each match that is not empty to `found`, in order, until it says stop. Between searches
    /// `go_on` is asked, so that the time between two answers is bounded. A match up to a quarter of
    /// the window long is always found; a longer one is where it begins a window, and may be cut.
    pub(crate) fn find(
        &self,
        text: &str,
        mut go_on: impl FnMut() -> bool,
        mut found: impl FnMut(usize, usize) -> bool,
    ) -> Ended {
        let mut searcher = self.regex.searcher();
        let mut at = 0;
        while at < text.len() {
            if !go_on() {
                return Ended::Stopped;
            }
            let end = text.floor_char_boundary(at + self.window);
            let is_last = end == text.len();
            let sure = text.floor_char_boundary(end - self.window.min(end - at) / 4);
            match searcher.find(&Input::new(&text[..end]).range(at..)) {
                // It may go on behind the window: look again with the window beginning at it.
                Some(find) if !is_last && find.end() > sure && find.start() > at => {
                    at = find.start();
                }
                Some(find) if find.is_empty() => {
                    at = text.ceil_char_boundary(find.end() + 1);
                }
                Some(find) => {
                    if !found(find.start(), find.end()) {
                        return Ended::Stopped;
                    }
                    at = find.end();
                }
                None if is_last => break,
                None => at = sure,
            }
        }
        Ended::AtTheEnd
    }
}

/// A regex that has to match a whole finding (CONTRACT 38 "allowed patterns").
pub(crate) fn whole(
    pattern: &CustomPattern,
    memory: &Arc<WorkingMemory>,
) -> Result<PooledRegex, Refused> {
    let regex = &pattern.regex;
    // First as it stands: "a)(b" is not a valid regex, though "(?:a)(b)" is one.
    syntax::parse(regex).map_err(|error| Refused::invalid(&error.to_string()))?;
    if regex.is_empty() {
        return compile(regex, memory);
    }
    // The line end closes a comment of a regex in verbose mode; elsewhere it would be a character.
    let plain = format!(r"\A(?:{regex})\z");
    let whole = match syntax::parse(&plain) {
        Ok(_) => plain,
        Err(_) => format!("\\A(?:{regex}\n)\\z"),
    };
    compile(&whole, memory)
}

/// Whether an allowed pattern matches the whole of a find; None for a find longer than one search looks at.
pub(crate) fn allows(regex: &PooledRegex, find: &str) -> Option<bool> {
    let is_bounded = regex.counted_bytes() <= LARGE || find.len() <= LARGE_WINDOW;
    is_bounded.then(|| regex.is_match(find))
}

fn compile(regex: &str, memory: &Arc<WorkingMemory>) -> Result<PooledRegex, Refused> {
    if regex.is_empty() {
        return Err(Refused {
            reason: "is empty".to_owned(),
            counted: 0,
        });
    }
    let regex = PooledRegex::new(regex, memory)?;
    match regex.matches_empty() {
        false => Ok(regex),
        true => Err(Refused {
            reason: "matches the empty text; allowed: a regex that needs a character".to_owned(),
            counted: regex.counted_bytes(),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn pattern(regex: &str) -> CustomPattern {
        CustomPattern {
            name: "N".to_owned(),
            regex: regex.to_owned(),
        }
    }

    fn compiled(regex: &str) -> Result<CustomRegex, Refused> {
        CustomRegex::new(&pattern(regex), &WorkingMemory::of(1))
    }

    fn allowed(regex: &str) -> Result<PooledRegex, Refused> {
        whole(&pattern(regex), &WorkingMemory::of(1))
    }

    fn finds(regex: &str, text: &str) -> Vec<(usize, usize)> {
        let mut finds = Vec::new();
        let regex = compiled(regex).unwrap();
        let ended = regex.find(
            text,
            || true,
            |start, end| {
                finds.push((start, end));
                true
            },
        );
        assert_eq!(ended, Ended::AtTheEnd);
        finds
    }

    #[test]
    fn a_regex_that_cannot_be_used_says_why() {
        for (regex, reason) in [
            ("(a", "is not valid: unclosed group"),
            ("a)(b", "is not valid: unopened group"),
            (
                "x*",
                "matches the empty text; allowed: a regex that needs a character",
            ),
            ("", "is empty"),
            (
                r"\w{900}{900}",
                "is larger than 10485760 bytes when compiled",
            ),
        ] {
            assert_eq!(compiled(regex).unwrap_err().reason, reason);
            assert_eq!(allowed(regex).unwrap_err().reason, reason);
        }
        assert!(allowed("a)(b").is_err());
    }

    #[test]
    fn a_regex_that_is_refused_keeps_nothing() {
        let memory = WorkingMemory::of(1);
        for regex in ["x*", r"(?:[ab]*a[ab]{36}b)*"] {
            assert!(CustomRegex::new(&pattern(regex), &memory).is_err());
            assert!(whole(&pattern(regex), &memory).is_err());
            assert_eq!(memory.kept(), 0);
        }
    }

    #[test]
    fn an_allowed_pattern_matches_a_whole_find_or_nothing() {
        for (regex, find, allowed) in [
            ("a|ab", "ab", true),
            ("a", "ab", false),
            ("(?x) a b # note", "ab", true),
            ("^ab$", "ab", true),
        ] {
            let compiled = self::allowed(regex).unwrap();
            assert_eq!(allows(&compiled, find), Some(allowed), "{regex} {find}");
        }
    }

    #[test]
    fn a_match_is_found_wherever_a_window_ends() {
        for lead in (WINDOW - 40)..(WINDOW + 8) {
            for text in [
                format!("{}ORD-123456 ORD-654321", " ".repeat(lead)),
                format!(
                    "{}ORD-123456 ORD-654321{}",
                    " ".repeat(lead),
                    "я".repeat(WINDOW)
                ),
            ] {
                let expected = [(lead, lead + 10), (lead + 11, lead + 21)];
                assert_eq!(finds(r"ORD-\d+", &text), expected, "{lead}");
            }
        }
        let long = format!("{}{}", "я".repeat(WINDOW / 2 - 3), "x".repeat(WINDOW / 4));
        assert_eq!(finds("x+", &long), [(WINDOW - 6, WINDOW - 6 + WINDOW / 4)]);
    }

    #[test]
    fn what_stands_before_a_window_still_counts() {
        let text = format!("{}a ab", "a".repeat(WINDOW * 2));
        assert_eq!(finds(r"\bab", &text), [(text.len() - 2, text.len())]);
        assert_eq!(finds(r"\Aa\b|b", &text), [(text.len() - 1, text.len())]);
        assert!(finds(r"\b", &text).is_empty());
    }

    #[test]
    fn the_caller_is_asked_between_searches_and_may_stop() {
        let regex = compiled("[^a]").unwrap();
        let text = "a".repeat(WINDOW * 10);
        let mut asked = 0;
        let ended = regex.find(
            &text,
            || {
                asked += 1;
                asked < 3
            },
            |_, _| true,
        );
        assert_eq!((ended, asked), (Ended::Stopped, 3));
    }
}

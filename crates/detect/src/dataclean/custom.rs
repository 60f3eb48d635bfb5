//! Custom patterns (§2.8 `{name, regex}`): compiles them under a size limit and finds their matches in
//! bounded time, whatever the regex and the message. `overlap` decides which find wins.

use crate::rules::CustomPattern;
use regex::{Regex, RegexBuilder};

/// The most a regex may take compiled, in bytes.
pub(crate) const LARGEST_COMPILED: usize = 10 << 20;
/// The most its automaton may keep at run time, per thread, in bytes.
const LARGEST_AUTOMATON: usize = 1 << 20;
/// Sizes that are tried one after the other, so that a small regex is known to be small.
const SIZES: [usize; 3] = [64 << 10, 1 << 20, LARGEST_COMPILED];
/// One search looks at this much of a message, in bytes; the clock is read between searches.
const WINDOW: usize = 16 << 10;
/// The same for a regex of the largest size, whose every byte may cost much more.
const LARGE_WINDOW: usize = 4 << 10;

/// A compiled custom pattern.
#[derive(Clone, Debug)]
pub(crate) struct CustomRegex {
    /// The entity type of its finds.
    pub(crate) name: String,
    /// At most this many bytes compiled.
    pub(crate) weight: usize,
    regex: Regex,
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
    pub(crate) fn new(pattern: &CustomPattern) -> Result<Self, String> {
        if pattern.regex.is_empty() {
            return Err("is empty".to_owned());
        }
        let (regex, weight) = compile(&pattern.regex)?;
        if regex.is_match("") {
            return Err("matches the empty text; allowed: a regex that needs a character".into());
        }
        Ok(Self {
            name: pattern.name.clone(),
            weight,
            regex,
            window: if weight == LARGEST_COMPILED {
                LARGE_WINDOW
            } else {
                WINDOW
            },
        })
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
        let mut at = 0;
        while at < text.len() {
            if !go_on() {
                return Ended::Stopped;
            }
            let end = text.floor_char_boundary(at + self.window);
            let is_last = end == text.len();
            let sure = text.floor_char_boundary(end - self.window.min(end - at) / 4);
            match self.regex.find_at(&text[..end], at) {
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
pub(crate) fn whole(pattern: &CustomPattern) -> Result<(Regex, usize), String> {
    // First as it stands: "a)(b" is not a valid regex, though "(?:a)(b)" is one.
    CustomRegex::new(pattern)?;
    // The line end closes a comment of a regex in verbose mode; elsewhere it would be a character.
    let regex = &pattern.regex;
    compile(&format!(r"\A(?:{regex})\z")).or_else(|_| compile(&format!("\\A(?:{regex}\n)\\z")))
}

fn compile(pattern: &str) -> Result<(Regex, usize), String> {
    let mut reason = String::new();
    for size in SIZES {
        let built = RegexBuilder::new(pattern)
            .size_limit(size)
            .dfa_size_limit(LARGEST_AUTOMATON)
            .build();
        match built {
            Ok(regex) => return Ok((regex, size)),
            Err(regex::Error::CompiledTooBig(_)) => {
                reason = format!("is larger than {LARGEST_COMPILED} bytes when compiled");
            }
            Err(error) => return Err(format!("is not valid: {}", last_line(&error.to_string()))),
        }
    }
    Err(reason)
}

/// The library shows the regex over several lines; what is wrong stands in the last one.
fn last_line(error: &str) -> &str {
    let line = error.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line)
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

    fn finds(regex: &str, text: &str) -> Vec<(usize, usize)> {
        let mut finds = Vec::new();
        let regex = CustomRegex::new(&pattern(regex)).unwrap();
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
            assert_eq!(CustomRegex::new(&pattern(regex)).unwrap_err(), reason);
        }
        assert!(whole(&pattern("a)(b")).is_err());
    }

    #[test]
    fn an_allowed_pattern_matches_a_whole_find_or_nothing() {
        for (regex, find, allowed) in [
            ("a|ab", "ab", true),
            ("a", "ab", false),
            ("(?x) a b # note", "ab", true),
            ("^ab$", "ab", true),
        ] {
            let (regex, _) = whole(&pattern(regex)).unwrap();
            assert_eq!(regex.is_match(find), allowed, "{regex} {find}");
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
        let regex = CustomRegex::new(&pattern("[^a]")).unwrap();
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

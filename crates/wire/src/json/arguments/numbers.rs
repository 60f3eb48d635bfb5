//! The numbers of arguments that are JSON in a string (CONTRACT 15, 41) and are not written as readers show them, in
//! arguments that come whole or in pieces, wherever these are cut. What is no JSON is read as far as it looks like it.

use crate::json::number::long_number;
use crate::json::number::name::{Sharing, label, name_end};
use std::borrow::Cow;
use std::ops::Range;

/// Levels of arguments whose names are kept. Deeper numbers are read without one.
const MOST_LEVELS: usize = 32;
/// The most bytes of a string that are kept, unless it comes in one piece: the end of a name counts.
const MOST_KEPT: usize = 4096;

/// A number that is not written as readers show it.
pub(crate) struct OddNumber {
    /// The words of its name, and the number written out.
    pub(crate) text: String,
    /// How many bytes of the text are no part of the number.
    pub(crate) label_bytes: usize,
    /// Where it stands in the arguments.
    pub(crate) span: Range<usize>,
}

/// Reads the numbers of arguments that come in pieces.
#[derive(Clone, Default)]
pub struct ArgumentNumbers {
    begun: Begun,
    /// The string or the number that has begun; then the last string.
    token: Vec<u8>,
    /// Bytes of the arguments before `token`, if that is a number.
    at: usize,
    levels: Vec<Level>,
    /// Levels beyond those.
    beyond: usize,
    /// A number has ended in the last piece.
    has_ended: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Begun {
    #[default]
    Nothing,
    String,
    /// A string whose last character is a backslash that takes the next one.
    Escape,
    Number,
}

/// An object or a list.
#[derive(Clone, Default)]
struct Level {
    /// The end of the last name, or of the name of the list.
    name: Vec<u8>,
    /// Whether a number had that name.
    is_spent: bool,
}

impl ArgumentNumbers {
    /// The numbers that end in one more piece, each on a line behind the words of its name. An empty line stands for one
    /// that began before the piece and is written as readers show it.
    pub fn push(&mut self, piece: &str) -> String {
        let (mut lines, was_inside) = (String::new(), self.is_inside_number());
        self.has_ended = false;
        self.read(piece, &mut |number| push_line(&mut lines, &number));
        if was_inside && self.has_ended && lines.is_empty() {
            lines.push('\n');
        }
        lines
    }

    /// Whether a number has begun that may go on.
    pub fn is_inside_number(&self) -> bool {
        self.begun == Begun::Number
    }

    /// The line of the number that has begun, as if it ended here.
    pub fn finish(&mut self) -> String {
        let (mut lines, was_inside) = (String::new(), self.is_inside_number());
        self.end_number(&mut |number| push_line(&mut lines, &number));
        if was_inside && lines.is_empty() {
            lines.push('\n');
        }
        lines
    }

    /// Those of whole arguments.
    pub(crate) fn each_of(arguments: &str, each: &mut dyn FnMut(OddNumber)) {
        let mut numbers = Self::default();
        numbers.read(arguments, each);
        numbers.end_number(each);
    }

    fn read(&mut self, piece: &str, each: &mut dyn FnMut(OddNumber)) {
        let bytes = piece.as_bytes();
        let (mut at, before) = (0, self.at);
        while let Some(byte) = bytes.get(at) {
            at += match self.begun {
                Begun::String => self.go_on(&bytes[at..]),
                Begun::Escape => {
                    self.token.push(*byte);
                    self.begun = Begun::String;
                    1
                }
                Begun::Number if is_of_number(*byte) => {
                    let length = bytes[at..].iter().take_while(|byte| is_of_number(**byte));
                    let length = length.count();
                    self.token.extend_from_slice(&bytes[at..at + length]);
                    length
                }
                Begun::Number => {
                    self.at = before + at;
                    self.end_number(each);
                    0
                }
                Begun::Nothing => {
                    self.begin(*byte);
                    1
                }
            };
        }
        self.at = before + at;
    }

    /// Takes bytes of a string up to its end; how many.
    fn go_on(&mut self, bytes: &[u8]) -> usize {
        let place = memchr::memchr2(b'"', b'\\', bytes);
        let length = place.map_or(bytes.len(), |place| place + 1);
        if self.token.len() > MOST_KEPT {
            let end = name_end(&self.token).len();
            self.token.drain(..self.token.len() - end);
        }
        self.token.extend_from_slice(&bytes[..length]);
        self.begun = match place.map(|place| bytes[place]) {
            Some(b'"') => Begun::Nothing,
            Some(_) => Begun::Escape,
            None => Begun::String,
        };
        length
    }

    fn begin(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.token.clear();
                self.begun = Begun::String;
            }
            b'-' | b'0'..=b'9' => {
                self.token.clear();
                self.token.push(byte);
                self.begun = Begun::Number;
            }
            b'{' => self.open(Level::default()),
            // A list has the name that it stands behind.
            b'[' => self.open(self.levels.last().cloned().unwrap_or_default()),
            b'}' | b']' => match self.beyond.checked_sub(1) {
                Some(beyond) => self.beyond = beyond,
                None => drop(self.levels.pop()),
            },
            b':' if self.beyond == 0 => {
                if let Some(level) = self.levels.last_mut() {
                    level.is_spent = false;
                    level.name.clear();
                    level.name.extend_from_slice(name_end(&self.token));
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, level: Level) {
        match self.levels.len() < MOST_LEVELS {
            true => self.levels.push(level),
            false => self.beyond += 1,
        }
    }

    /// Ends the number that has begun, at `at`.
    fn end_number(&mut self, each: &mut dyn FnMut(OddNumber)) {
        if std::mem::take(&mut self.begun) != Begun::Number {
            return;
        }
        self.has_ended = true;
        let token = std::mem::take(&mut self.token);
        let number = std::str::from_utf8(&token).unwrap_or_default();
        if let Some(Cow::Owned(written)) = long_number(number) {
            let level = self.levels.last_mut().filter(|_| self.beyond == 0);
            let label = level.map_or_else(String::new, |level| {
                let sharing = Sharing::of(std::mem::replace(&mut level.is_spent, true));
                label(&level.name, sharing.room(number.len(), &written))
            });
            each(OddNumber {
                text: format!("{label}{written}"),
                label_bytes: label.len(),
                span: self.at - token.len()..self.at,
            });
        }
    }
}

fn push_line(lines: &mut String, number: &OddNumber) {
    lines.push_str(&number.text);
    lines.push('\n');
}

pub(crate) fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

#[cfg(test)]
mod tests {
    use super::ArgumentNumbers;

    const ARGUMENTS: [(&str, &str); 7] = [
        (r#"{"n":12345678,"x":"1234567890.0 \" 1234567890.0"}"#, ""),
        (
            r#"{"orderId":12345678.5,"a\"b":[1,{"c":[2]},123456789.0,-1.2345678e9]}"#,
            "order Id: 12345678 .5\na b: 123456789\n-1234567800\n",
        ),
        (
            r#"{"inn":[1111111111.0,2222222222.000000]} 33333333.0"#,
            "inn: 1111111111\ninn: 2222222222\n33333333\n",
        ),
        (
            r#"[[12345678.0]],{"a":{},"b":12345678.0}"#,
            "12345678\nb: 12345678\n",
        ),
        (
            r#"x = 4111111111111111.0; "open 4111111111111111.0"#,
            "4111111111111111\n",
        ),
        ("12345678.0", "12345678\n"),
        ("}]:,\"", ""),
    ];

    #[test]
    fn numbers_are_written_out_behind_the_words_of_their_names() {
        for (arguments, expected) in ARGUMENTS {
            let mut numbers = ArgumentNumbers::default();
            let lines = numbers.push(arguments) + &numbers.finish();
            assert_eq!(lines, expected, "{arguments}");
        }
    }

    #[test]
    fn pieces_of_any_cut_have_the_numbers_of_the_whole() {
        for (arguments, expected) in ARGUMENTS {
            for first in 0..=arguments.len() {
                for second in first..=arguments.len() {
                    let mut numbers = ArgumentNumbers::default();
                    let mut lines = String::new();
                    for piece in [0..first, first..second, second..arguments.len()] {
                        let begun = numbers.is_inside_number();
                        let more = numbers.push(arguments.get(piece).unwrap_or_default());
                        // What was held for a number is let go once it ends.
                        assert!(!begun || numbers.is_inside_number() || !more.is_empty());
                        lines += &more;
                    }
                    lines += &numbers.finish();
                    let written = lines.lines().filter(|line| !line.is_empty());
                    assert!(
                        written.eq(expected.lines()),
                        "{arguments} at {first}, {second}"
                    );
                }
            }
        }
    }

    #[test]
    fn names_that_lie_deep_are_left_out() {
        for (depth, label) in [(32, "a: "), (33, ""), (5000, "")] {
            let (open, close) = ("{\"a\":".repeat(depth), "}".repeat(depth));
            let mut numbers = ArgumentNumbers::default();
            let lines = numbers.push(&format!("{open}12345678.0{close},{{\"b\":12345678.0}}"));
            assert_eq!(lines, format!("{label}12345678\nb: 12345678\n"));
        }
    }
}

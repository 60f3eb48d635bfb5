//! The strict grammar of RFC 8259, one value at a time, without recursion. `scan` records the positions.

use super::notes::Notebook;
use crate::json::kind::Kind;
use crate::json::text::plain_len;
use std::fmt;

/// Why and where a body is not JSON. Never holds or shows any of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Bytes before the place where the grammar breaks.
    pub offset: usize,
    /// What is wrong there.
    pub kind: SyntaxKind,
}

/// What is wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxKind {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// The body ends inside a value, or holds none.
    UnexpectedEnd,
    /// A value must stand here.
    ExpectedValue,
    /// A member's name in quotes must stand here.
    ExpectedKey,
    /// A colon must stand here.
    ExpectedColon,
    /// A comma or `}` must stand here.
    ExpectedCommaOrBrace,
    /// A comma or `]` must stand here.
    ExpectedCommaOrBracket,
    /// A control character inside a string must be escaped.
    ControlCharacter,
    /// A backslash is followed by something that is no escape.
    InvalidEscape,
    /// A number is not spelled as the grammar wants it.
    InvalidNumber,
    /// Something follows the value.
    TrailingData,
}

impl SyntaxKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not UTF-8",
            Self::UnexpectedEnd => "unexpected end",
            Self::ExpectedValue => "expected a value",
            Self::ExpectedKey => "expected a member name in quotes",
            Self::ExpectedColon => "expected ':'",
            Self::ExpectedCommaOrBrace => "expected ',' or '}'",
            Self::ExpectedCommaOrBracket => "expected ',' or ']'",
            Self::ControlCharacter => "unescaped control character in a string",
            Self::InvalidEscape => "invalid escape in a string",
            Self::InvalidNumber => "invalid number",
            Self::TrailingData => "unexpected data after the value",
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not valid JSON at byte {}: {}",
            self.offset,
            self.kind.as_str()
        )
    }
}

impl std::error::Error for SyntaxError {}

/// Which containers are open, one bit each, so that a body of nothing but brackets costs an eighth
/// of its size. The innermost 64 levels are in `recent`.
#[derive(Default)]
struct Nesting {
    recent: u64,
    older: Vec<u64>,
    depth: usize,
}

impl Nesting {
    fn open(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.older.push(self.recent);
        }
        self.recent = self.recent << 1 | u64::from(object);
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.recent >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.recent = self.older.pop().unwrap_or_default();
        }
    }

    /// How many containers are around the innermost one.
    fn level(&self) -> usize {
        self.depth.saturating_sub(1)
    }

    /// None outside every container, else whether the innermost one is an object.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.recent & 1 == 1)
    }
}

/// A place in a body up to which the grammar holds.
pub(super) struct Checker<'a> {
    bytes: &'a [u8],
    at: usize,
    notebook: Notebook,
}

impl<'a> Checker<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            notebook: Notebook::default(),
        }
    }

    /// What it has noted of the bytes that it has passed.
    pub(super) fn into_notebook(self) -> Notebook {
        self.notebook
    }

    /// What reading the texts of those bytes costs.
    pub(super) fn cost(&self) -> usize {
        self.notebook.cost()
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Steps over `count` bytes that the caller has looked at.
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// An error at this place; the end of the body is always told as such.
    pub(super) fn error(&self, kind: SyntaxKind) -> SyntaxError {
        let kind = match self.at < self.bytes.len() {
            true => kind,
            false => SyntaxKind::UnexpectedEnd,
        };
        SyntaxError {
            offset: self.at,
            kind,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is not white space, without stepping over it.
    #[inline]
    pub(super) fn peek_token(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// A member's name, the colon and the white space around; gives the name's span.
    pub(super) fn key(&mut self) -> Result<std::ops::Range<usize>, SyntaxError> {
        if self.peek_token() != Some(b'"') {
            return Err(self.error(SyntaxKind::ExpectedKey));
        }
        let start = self.at;
        self.string()?;
        let end = self.at;
        if self.peek_token() != Some(b':') {
            return Err(self.error(SyntaxKind::ExpectedColon));
        }
        self.at += 1;
        Ok(start..end)
    }

    /// One value of any depth, after white space; gives what it is. Ends behind its last byte.
    pub(super) fn value(&mut self) -> Result<Kind, SyntaxError> {
        let mut nesting = Nesting::default();
        let outermost = self.enter(&mut nesting)?;
        while let Some(object) = nesting.innermost() {
            // No scalar and no closed container ends with an opening bracket: this one is still empty.
            let fresh = matches!(self.bytes.get(self.at - 1), Some(b'{' | b'['));
            match self.peek_token() {
                Some(b'}') if object => self.leave(&mut nesting),
                Some(b']') if !object => self.leave(&mut nesting),
                Some(b',') if !fresh => {
                    self.at += 1;
                    self.item(object, &mut nesting)?;
                }
                _ if fresh => self.item(object, &mut nesting)?,
                _ if object => return Err(self.error(SyntaxKind::ExpectedCommaOrBrace)),
                _ => return Err(self.error(SyntaxKind::ExpectedCommaOrBracket)),
            }
        }
        Ok(outermost)
    }

    fn leave(&mut self, nesting: &mut Nesting) {
        self.at += 1;
        self.notebook.close(nesting.level(), self.at);
        nesting.close();
    }

    #[inline]
    fn begin(&mut self, object: bool, nesting: &mut Nesting) {
        nesting.open(object);
        self.notebook.open(nesting.level(), self.at);
        self.at += 1;
    }

    #[inline]
    fn item(&mut self, object: bool, nesting: &mut Nesting) -> Result<(), SyntaxError> {
        if object {
            self.key()?;
        }
        self.enter(nesting).map(|_| ())
    }

    /// A scalar whole, or the opening bracket of a container.
    #[inline]
    fn enter(&mut self, nesting: &mut Nesting) -> Result<Kind, SyntaxError> {
        match self.peek_token() {
            Some(b'"') => self.string().map(|()| Kind::String),
            Some(b'{') => {
                self.begin(true, nesting);
                Ok(Kind::Object)
            }
            Some(b'[') => {
                self.begin(false, nesting);
                Ok(Kind::Array)
            }
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| Kind::Number),
            Some(b't') => self.literal(b"true", Kind::True),
            Some(b'f') => self.literal(b"false", Kind::False),
            Some(b'n') => self.literal(b"null", Kind::Null),
            _ => Err(self.error(SyntaxKind::ExpectedValue)),
        }
    }

    fn literal(&mut self, word: &[u8], kind: Kind) -> Result<Kind, SyntaxError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.error(SyntaxKind::ExpectedValue));
        }
        self.at += word.len();
        Ok(kind)
    }

    /// A string from its opening to behind its closing quote.
    #[inline]
    fn string(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at += plain_len(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.notebook.string(start..self.at);
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(self.error(SyntaxKind::ControlCharacter)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let tail = &self.bytes[self.at + 1..];
        match tail.first() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = tail.get(1..5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.error(SyntaxKind::InvalidEscape));
                }
                self.at += 6;
            }
            _ => return Err(self.error(SyntaxKind::InvalidEscape)),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error(SyntaxKind::InvalidNumber));
        }
        Ok(())
    }
}

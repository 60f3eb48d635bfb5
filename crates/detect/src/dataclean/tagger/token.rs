//! Splits a text into words, numbers and marks with their byte positions, script and letter case, and
//! into sentences. The trainer uses this code.

use crate::chars::{is_capital, is_letter, is_word_char};

/// The most tokens one sentence may hold: a longer one is cut, so that work stays linear.
pub const LONGEST_SENTENCE: usize = 160;

/// One word, number or mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    pub kind: Kind,
    pub case: Case,
    pub gap: Gap,
}

/// What a token is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cyrillic,
    Latin,
    /// Letters of other or of several scripts, or letters with digits.
    Mixed,
    Digits,
    Mark,
}

/// How its letters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    None,
    Lower,
    /// One capital letter alone, as in initials.
    Initial,
    Title,
    Upper,
    /// A small first letter, capitals inside: "iPhone".
    Camel,
}

/// What stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    Glued,
    Space,
    Line,
    Paragraph,
}

impl Token {
    /// Whether it is made of letters.
    pub fn is_word(self) -> bool {
        !matches!(self.kind, Kind::Digits | Kind::Mark)
    }

    /// Whether it begins with a capital.
    pub fn is_capital(self) -> bool {
        !matches!(self.case, Case::None | Case::Lower)
    }
}

/// All tokens of a text, in order.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::with_capacity(text.len() / 6);
    let mut at = 0;
    let mut gap = Gap::Paragraph;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            gap = wider(gap, c, &mut at);
            continue;
        }
        let end = if c.is_ascii_digit() {
            at + text[at..].bytes().take_while(u8::is_ascii_digit).count()
        } else if is_letter(c) {
            word_end(text, at)
        } else {
            at + c.len_utf8()
        };
        let (kind, case) = describe(&text[at..end]);
        out.push(Token {
            start: at,
            end,
            kind,
            case,
            gap,
        });
        (at, gap) = (end, Gap::Glued);
    }
    out
}

/// The sentences, as ranges of tokens.
pub fn sentences(text: &str, tokens: &[Token]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = 0;
    for next in 1..=tokens.len() {
        if next == tokens.len() || next - start >= LONGEST_SENTENCE || is_border(text, tokens, next)
        {
            out.push((start, next));
            start = next;
        }
    }
    out
}

fn wider(gap: Gap, c: char, at: &mut usize) -> Gap {
    *at += c.len_utf8();
    match (c, gap) {
        ('\n', Gap::Line | Gap::Paragraph) => Gap::Paragraph,
        ('\n', _) => Gap::Line,
        (_, Gap::Glued) => Gap::Space,
        _ => gap,
    }
}

/// Letters and digits, with hyphens and apostrophes between letters.
fn word_end(text: &str, start: usize) -> usize {
    let rest = text[start..].char_indices();
    let mut end = start;
    for (at, c) in rest {
        if is_word_char(c) || ('\u{300}'..'\u{370}').contains(&c) {
            end = start + at + c.len_utf8();
            continue;
        }
        let mut after = text[start + at + c.len_utf8()..].chars();
        let is_letter = |c: Option<char>| c.is_some_and(is_letter);
        let joins = match c {
            '-' | '\u{2010}' | '\u{2011}' => is_letter(after.next()),
            '\'' | '’' => is_letter(after.next()) && is_letter(after.next()),
            _ => false,
        };
        if !joins {
            break;
        }
    }
    end
}

fn describe(token: &str) -> (Kind, Case) {
    let (mut cyrillic, mut latin, mut other, mut digits) = (false, false, false, false);
    let (mut letters, mut upper, mut first_upper) = (0_usize, 0_usize, false);
    for c in token.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => latin = true,
            '\u{400}'..='\u{4ff}' => cyrillic = true,
            _ if is_letter(c) => other = true,
            _ if c.is_numeric() => digits = true,
            _ => {}
        }
        if is_letter(c) {
            first_upper |= letters == 0 && is_capital(c);
            letters += 1;
            upper += usize::from(is_capital(c));
        }
    }
    let kind = match (cyrillic, latin, other || (digits && letters > 0), digits) {
        (true, false, false, _) => Kind::Cyrillic,
        (false, true, false, _) => Kind::Latin,
        (false, false, false, true) => Kind::Digits,
        (false, false, false, false) => Kind::Mark,
        _ => Kind::Mixed,
    };
    (kind, case(letters, upper, first_upper))
}

fn case(letters: usize, upper: usize, first_upper: bool) -> Case {
    match (letters, upper) {
        (0, _) => Case::None,
        (_, 0) => Case::Lower,
        (1, _) => Case::Initial,
        _ if letters == upper => Case::Upper,
        (_, 1) if first_upper => Case::Title,
        _ => Case::Camel,
    }
}

/// Abbreviations whose dot ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "г",
    "гг",
    "ул",
    "д",
    "кв",
    "корп",
    "стр",
    "обл",
    "пр",
    "просп",
    "пер",
    "пл",
    "им",
    "тов",
    "гр",
    "см",
    "др",
    "т",
    "н",
    "э",
    "св",
    "акад",
    "проф",
    "доц",
    "руб",
    "тыс",
    "млн",
    "млрд",
    "тел",
    "оф",
    "пом",
    "лит",
    "под",
    "эт",
    "мкр",
    "пр-т",
    "пр-д",
    "б-р",
    "респ",
    "р",
    "п",
    "с",
    "ст",
    "пос",
    "дер",
    "наб",
    "ш",
    "mr",
    "mrs",
    "ms",
    "dr",
    "prof",
    "st",
    "ave",
    "apt",
    "rd",
    "blvd",
    "jr",
    "sr",
    "inc",
    "ltd",
    "co",
    "corp",
    "no",
    "vs",
    "e",
    "i",
    "ste",
    "mx",
    "rev",
    "gen",
    "sen",
    "capt",
    "lt",
    "sgt",
    "hon",
];

fn is_border(text: &str, tokens: &[Token], next: usize) -> bool {
    let (last, following) = (tokens[next - 1], tokens[next]);
    if following.gap == Gap::Paragraph {
        return true;
    }
    let mark = &text[last.start..last.end];
    if following.gap == Gap::Glued || !matches!(mark, "." | "!" | "?" | "…" | ";") {
        return false;
    }
    if mark != "." {
        return true;
    }
    if following.case == Case::Lower {
        return false;
    }
    let before = next.checked_sub(2).map(|at| tokens[at]);
    !before.is_some_and(|token| {
        let word = &text[token.start..token.end];
        token.case == Case::Initial
            || token.gap != Gap::Paragraph
                && ABBREVIATIONS.contains(&word.to_lowercase().as_str())
                && word.len() <= 10
    })
}

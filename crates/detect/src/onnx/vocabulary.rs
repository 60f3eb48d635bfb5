//! Splits words into the pieces that a BERT model knows (WordPiece), each with its position in the text.
//! Reads `tokenizer.json` and `vocab.txt`; other kinds of tokenizers are not supported.

use serde_json::Value;
use std::collections::HashMap;

/// Longer words are unknown, in characters.
const LONGEST_WORD: usize = 100;
/// The mark of a piece that goes on with a word.
const GOES_ON: &str = "##";

/// The pieces of a model.
pub(super) struct Vocabulary {
    numbers: HashMap<String, i32>,
    small: bool,
    unknown: i32,
    first: i32,
    last: i32,
}

/// A piece in its place, in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) number: i32,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Begins a word.
    pub(super) begins: bool,
}

impl Vocabulary {
    /// Reads a vocabulary in one of the two forms.
    ///
    /// # Errors
    /// What is missing in it.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let (numbers, small) = match text.trim_start().starts_with('{') {
            true => of_json(text)?,
            false => of_lines(text),
        };
        let number = |piece: &str| {
            let number = numbers.get(piece).copied();
            number.ok_or_else(|| format!("the vocabulary has no {piece}"))
        };
        Ok(Self {
            unknown: number("[UNK]")?,
            first: number("[CLS]")?,
            last: number("[SEP]")?,
            small,
            numbers,
        })
    }

    /// The pieces of a text, in order, at most so many; and whether those are all.
    pub(super) fn pieces(&self, text: &str, most: usize) -> (Vec<Piece>, bool) {
        let mut pieces = Vec::new();
        let mut chars = text.char_indices().peekable();
        while let Some((start, c)) = chars.next() {
            if c.is_whitespace() || is_unseen(c) {
                continue;
            }
            let mut end = start + c.len_utf8();
            if !stands_alone(c) {
                let inside = |c: char| !c.is_whitespace() && !stands_alone(c);
                while let Some((at, c)) = chars.next_if(|(_, c)| inside(*c)) {
                    end = at + c.len_utf8();
                }
            }
            self.cut(text, (start, end), &mut pieces);
            if pieces.len() > most {
                pieces.truncate(most);
                return (pieces, false);
            }
        }
        (pieces, true)
    }

    /// A window of so many unknown words.
    pub(super) fn unknown(&self, words: usize) -> Vec<i32> {
        let mut framed = vec![self.first];
        framed.resize(words + 1, self.unknown);
        framed.push(self.last);
        framed
    }

    /// A window of pieces with the two numbers that frame it.
    pub(super) fn framed(&self, pieces: &[Piece]) -> Vec<i32> {
        let numbers = pieces.iter().map(|piece| piece.number);
        let mut framed = vec![self.first];
        framed.extend(numbers);
        framed.push(self.last);
        framed
    }

    /// Cuts one word: always the longest piece that fits.
    fn cut(&self, text: &str, (start, end): (usize, usize), pieces: &mut Vec<Piece>) {
        let letters = self.letters(&text[start..end], start);
        let before = pieces.len();
        let mut at = 0;
        while at < letters.len() && letters.len() <= LONGEST_WORD {
            let Some((number, length)) = self.longest(&letters[at..], at > 0) else {
                break;
            };
            pieces.push(Piece {
                number,
                start: letters[at].1,
                end: letters.get(at + length).map_or(end, |letter| letter.1),
                begins: at == 0,
            });
            at += length;
        }
        if at < letters.len() {
            pieces.truncate(before);
            pieces.push(Piece {
                number: self.unknown,
                start,
                end,
                begins: true,
            });
        }
    }

    /// The longest piece that the letters begin with, and how many of them it takes.
    fn longest(&self, letters: &[(char, usize)], goes_on: bool) -> Option<(i32, usize)> {
        let mut piece = String::from(if goes_on { GOES_ON } else { "" });
        piece.extend(letters.iter().map(|(c, _)| c));
        for length in (1..=letters.len()).rev() {
            if let Some(number) = self.numbers.get(&piece) {
                return Some((*number, length));
            }
            piece.pop();
        }
        None
    }

    /// The letters of a word as the model knows them, each with the place of what it is read from.
    fn letters(&self, word: &str, start: usize) -> Vec<(char, usize)> {
        let mut letters = Vec::new();
        for (at, c) in word.char_indices().filter(|(_, c)| !is_unseen(*c)) {
            match self.small {
                true => letters.extend(c.to_lowercase().map(|c| (without_mark(c), start + at))),
                false => letters.push((c, start + at)),
            }
        }
        if self.small {
            letters.retain(|(c, _)| !matches!(c, '\u{300}'..='\u{36f}'));
        }
        letters
    }
}

type Read = (HashMap<String, i32>, bool);

fn of_json(text: &str) -> Result<Read, String> {
    let json: Value =
        serde_json::from_str(text).map_err(|_| "tokenizer.json is no JSON".to_owned())?;
    let model = &json["model"];
    let vocabulary = model["vocab"].as_object();
    let is_pieces = model["type"]
        .as_str()
        .is_none_or(|kind| kind == "WordPiece");
    let Some(vocabulary) = vocabulary.filter(|_| is_pieces) else {
        return Err(
            "tokenizer.json is no WordPiece tokenizer; allowed: those of BERT models".into(),
        );
    };
    let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
    let numbers = vocabulary
        .iter()
        .filter_map(|(piece, value)| Some((piece.clone(), number(value)?)))
        .collect();
    let small = json["normalizer"]["lowercase"].as_bool().unwrap_or(false);
    Ok((numbers, small))
}

/// One piece a line. Without a capital letter in any of them the model knows small letters only.
fn of_lines(text: &str) -> Read {
    let lines = text.lines().map(str::trim_end).zip(0..);
    let numbers: HashMap<String, i32> = lines.map(|(piece, n)| (piece.to_owned(), n)).collect();
    let capital = |piece: &String| !piece.starts_with('[') && piece.contains(char::is_uppercase);
    let small = !numbers.keys().any(capital);
    (numbers, small)
}

/// Control characters and such are not there for a model.
fn is_unseen(c: char) -> bool {
    c == '\u{fffd}' || c.is_control() && !c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}')
}

/// Punctuation and the signs of Chinese and Japanese are words of their own.
fn stands_alone(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_punctuation(),
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' => true,
        '«' | '»' | '\u{a1}' | '\u{a7}' | '\u{b6}' | '\u{b7}' | '\u{bf}' => true,
        '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}' => true,
        _ => false,
    }
}

/// Letters with marks and the same without, as models of small letters know them.
const MARKED: (&str, &str) = (
    "йёїўàáâãäåçèéêëìíîïñòóôõöùúûüýÿāăąćčďēėęěğīįłńňōőŕřśşšťūůűųźżž",
    "иеіуaaaaaaceeeeiiiinooooouuuuyyaaaccdeeeegiilnnoorrssstuuuuzzz",
);

fn without_mark(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let place = MARKED.0.chars().position(|other| other == c);
    place.and_then(|at| MARKED.1.chars().nth(at)).unwrap_or(c)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LINES: &str = "[UNK]\n[CLS]\n[SEP]\nив\n##ан\n,\nиванои\nwork\n##ing";

    fn cut<'t>(text: &'t str, vocabulary: &Vocabulary) -> Vec<(&'t str, i32)> {
        let (pieces, whole) = vocabulary.pieces(text, 100);
        assert!(whole);
        let place = |piece: &Piece| (&text[piece.start..piece.end], piece.number);
        pieces.iter().map(place).collect()
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces_at_their_places() {
        let vocabulary = Vocabulary::new(LINES).unwrap();
        let found = cut("Иван, Working ivan", &vocabulary);
        let expected = [
            ("Ив", 3),
            ("ан", 4),
            (",", 5),
            ("Work", 7),
            ("ing", 8),
            ("ivan", 0),
        ];
        assert_eq!(found, expected);
        assert_eq!(cut("ИванОЙ", &vocabulary), [("ИванОЙ", 6)]);
        assert_eq!(cut("в\u{301}", &vocabulary), [("в\u{301}", 0)]);
        assert_eq!(vocabulary.pieces("Иван, Иван", 3).0.len(), 3);
        assert!(!vocabulary.pieces("Иван, Иван", 3).1);
    }

    #[test]
    fn both_forms_of_a_vocabulary_are_read_and_others_refused() {
        let json = r#"{"normalizer": {"lowercase": true}, "model": {"type": "WordPiece",
            "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "hi": 3}}}"#;
        assert_eq!(cut("Hi", &Vocabulary::new(json).unwrap()), [("Hi", 3)]);
        for (text, why) in [
            (r#"{"model": {"type": "BPE", "vocab": {}}}"#, "no WordPiece"),
            ("{", "no JSON"),
            ("[UNK]\n[CLS]", "no [SEP]"),
        ] {
            assert!(Vocabulary::new(text).is_err_and(|told| told.contains(why)));
        }
        let (marked, plain) = MARKED;
        assert_eq!(marked.chars().count(), plain.chars().count());
    }
}

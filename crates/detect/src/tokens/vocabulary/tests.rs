//! Counts against a textbook implementation, and pieces that are long or made to be difficult.

use super::*;
use crate::weights::{CL100K_BASE, O200K_BASE};
use std::collections::HashMap;

/// The file of a vocabulary with these tokens.
fn file(tokens: &[&[u8]]) -> Vec<u8> {
    let entry = |token: &&[u8]| [&[token.len() as u8], *token].concat();
    tokens.iter().flat_map(entry).collect()
}

/// a, b, c and a few merges of them.
fn small() -> Vec<u8> {
    file(&[b"a", b"b", b"c", b"ab", b"bc", b"abc", b"aa", b"aaaa"])
}

/// Byte-pair encoding as it is defined.
struct Textbook(HashMap<Vec<u8>, usize>);

impl Textbook {
    fn new(file: &[u8]) -> Self {
        let mut ranks = HashMap::new();
        let mut rest = file;
        while let Some((length, tail)) = rest.split_first() {
            let (token, tail) = tail.split_at(usize::from(*length));
            ranks.insert(token.to_vec(), ranks.len());
            rest = tail;
        }
        Self(ranks)
    }

    fn count(&self, piece: &[u8]) -> usize {
        let mut parts: Vec<Vec<u8>> = piece.iter().map(|byte| vec![*byte]).collect();
        if self.0.contains_key(piece) {
            return 1;
        }
        loop {
            let pairs = parts.windows(2).enumerate();
            let ranked = pairs.filter_map(|(at, pair)| Some((*self.0.get(&pair.concat())?, at)));
            let Some((_, at)) = ranked.min() else {
                return parts.len();
            };
            let right = parts.remove(at + 1);
            parts[at].extend(right);
        }
    }
}

fn count(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    vocabulary.count(piece, &mut Earlier::new(""))
}

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn piece(&mut self, units: &[&str], longest: usize) -> Vec<u8> {
        let units = (0..=self.below(longest)).map(|_| units[self.below(units.len())]);
        units.collect::<String>().into_bytes()
    }
}

#[test]
fn the_lowest_rank_is_merged_first_and_the_leftmost_among_equals() {
    let vocabulary = Vocabulary::new(&small());
    for (piece, tokens) in [
        ("a", 1),
        ("abc", 1),
        ("bcb", 2),
        ("aab", 2),
        ("aaaaa", 2),
        ("cab", 2),
        ("aaa", 2),
    ] {
        assert_eq!(count(&vocabulary, piece.as_bytes()), tokens, "{piece}");
    }
}

#[test]
fn all_ways_of_merging_count_as_the_textbook() {
    let file = small();
    let (vocabulary, textbook) = (Vocabulary::new(&file), Textbook::new(&file));
    let mut numbers = Numbers(7);
    for _ in 0..2_000 {
        let piece = numbers.piece(&["a", "b", "c", "aa"], 150);
        let tokens = textbook.count(&piece);
        assert_eq!(count(&vocabulary, &piece), tokens, "{piece:?}");
        let whole = vocabulary.merge_long(&piece).count();
        assert_eq!(whole.max(1), vocabulary.count_long(&piece), "{piece:?}");
    }
}

#[test]
fn pieces_of_every_kind_count_as_in_the_textbook() {
    const LETTERS: &[&str] = &[
        "e", "t", "a", "o", "i", "n", "s", "r", "h", "th", "ing", "E",
    ];
    const CYRILLIC: &[&str] = &["о", "е", "а", "и", "н", "т", "с", "ст", "ни", "ого", "Щ"];
    const SIGNS: &[&str] = &["-", "--", "=", "/", "*", "    ", " ", "\n", "\t", "(", ");"];
    const OTHERS: &[&str] = &[
        "\u{1f600}",
        "\u{1f1f7}",
        "\u{200d}",
        "日",
        "本",
        "한",
        "ع",
        "e\u{301}",
    ];
    let mut numbers = Numbers(1);
    for packed in [O200K_BASE, CL100K_BASE] {
        let file = packed.unpack();
        let (vocabulary, textbook) = (Vocabulary::new(&file), Textbook::new(&file));
        for units in [LETTERS, CYRILLIC, SIGNS, OTHERS] {
            for longest in [4, 4, 4, 12, 12, 30, 120] {
                let piece = numbers.piece(units, longest);
                let text = String::from_utf8_lossy(&piece);
                assert_eq!(
                    count(&vocabulary, &piece),
                    textbook.count(&piece),
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn every_token_is_found_and_nothing_else_is() {
    let file = O200K_BASE.unpack();
    let (vocabulary, textbook) = (Vocabulary::new(&file), Textbook::new(&file));
    for (token, rank) in &textbook.0 {
        assert_eq!(vocabulary.rank(token), *rank as u32);
        let longer = [&**token, b"\x01"].concat();
        let shorter = &token[..token.len() - 1];
        for other in [&longer[..], shorter]
            .into_iter()
            .filter(|other| !other.is_empty())
        {
            let expected = textbook.0.get(other).map_or(NONE, |rank| *rank as u32);
            assert_eq!(vocabulary.rank(other), expected);
        }
    }
}

/// The rank of each pair is lower than that of the pair before it, so that tokens depend on how many letters
/// follow, however far away.
#[test]
fn a_piece_that_depends_on_its_end_is_merged_as_a_whole() {
    const LETTERS: u8 = 100;
    let mut chain = Vec::new();
    for one in 0..LETTERS {
        for two in one + 1..LETTERS {
            chain.extend([one, two]);
        }
    }
    let letters: Vec<[u8; 1]> = (0..LETTERS).map(|letter| [letter]).collect();
    let letters = letters.iter().map(|letter| &letter[..]);
    let tokens: Vec<&[u8]> = letters.chain(chain.windows(2).rev()).collect();
    let vocabulary = Vocabulary::new(&file(&tokens));
    for length in [65, 129, 1001, 4097, 8191, 9899] {
        assert_eq!(
            count(&vocabulary, &chain[..length]),
            length / 2 + 1,
            "{length}"
        );
    }
}

//! EMAILS (§2.8): addresses as people write them, with Unicode names and domains (.рф). Quoted local parts
//! and bare host names do not count, nor does the user of a URL or of an SSH remote.

use super::email_domain::{LONGEST_DOMAIN, domain_length, is_latin, label_char};
use crate::chars::is_word_char;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};

pub(crate) struct Emails;

/// RFC 5321 §4.5.3.1, in bytes.
const LONGEST_LOCAL: usize = 64;
/// What no local part begins with.
const UNLED: [char; 4] = ['.', '\'', '-', '%'];
/// How far back a URL's scheme is looked for, in bytes.
const URL_REACH: usize = 128;

impl Detector for Emails {
    fn name(&self) -> PatternName {
        PatternName::Emails
    }

    fn needs(&self) -> Needs {
        Needs::At
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let text = text.original();
        for at in memchr::memchr_iter(b'@', text.as_bytes()) {
            let Some(start) = local_start(&text[..at]) else {
                continue;
            };
            let Some(length) = domain_length(&text[at + 1..]) else {
                continue;
            };
            let end = at + 1 + length;
            if !(in_url(&text[..start]) || goes_on(&text[end..])) {
                out.push(Span::new(self.name(), start..end, Strength::Form));
            }
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        let text = text.original();
        let open = |at: &usize| domain_is_open(&text[at + 1..]);
        let addresses = memchr::memchr_iter(b'@', text.as_bytes()).filter(open);
        let begun = addresses.filter_map(|at| local_start(&text[..at])).min();
        let word = open_local(text);
        Some(begun.map_or(word, |begun| begun.min(word)))
    }
}

/// Where the local part of an address begins at the earliest whose `@` is still to come.
fn open_local(text: &str) -> usize {
    let mut alphabet = None;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        let fits =
            is_sign(c) || is_word_char(c) && *alphabet.get_or_insert(is_latin(c)) == is_latin(c);
        if !fits || text.len() - at > LONGEST_LOCAL {
            break;
        }
        start = at;
    }
    text.len() - text[start..].trim_start_matches(UNLED).len()
}

/// Whether the domain at the beginning of `tail`, or what bears on it, may go on.
fn domain_is_open(tail: &str) -> bool {
    // Beyond the longest domain and two characters nothing is read.
    const REACH: usize = LONGEST_DOMAIN + 16;
    let behind = tail.trim_start_matches(label_char);
    tail.len() < REACH && matches!(behind, "" | ":")
}

/// Walks back over the local part. It is written in one alphabet: a letter of another one before it
/// is a word that was glued to the address.
fn local_start(head: &str) -> Option<usize> {
    let mut alphabet = None;
    let mut start = head.len();
    for (at, c) in head.char_indices().rev() {
        let fits = match c {
            _ if is_sign(c) => true,
            _ => is_word_char(c) && *alphabet.get_or_insert(is_latin(c)) == is_latin(c),
        };
        if !fits {
            break;
        }
        start = at;
        if head.len() - start > LONGEST_LOCAL * 2 {
            return None;
        }
    }
    let run = &head[start..];
    // An apostrophe belongs to "o'brien"; elsewhere it is a quotation mark.
    let quoted = run
        .rfind('\'')
        .filter(|at| !(1..=2).contains(at))
        .map_or(run, |at| &run[at + 1..]);
    let local = quoted.trim_start_matches(UNLED);
    let start = head.len() - local.len();
    let right = !local.is_empty()
        && local.len() <= LONGEST_LOCAL
        && !local.ends_with('.')
        && !local.contains("..");
    (right && !head[..start].ends_with('@')).then_some(start)
}

/// What a local part holds besides letters of its alphabet.
fn is_sign(c: char) -> bool {
    matches!(c, '0'..='9' | '.' | '_' | '%' | '+' | '-' | '\'')
}

/// A user's name or a password before the host of a URL.
fn in_url(head: &str) -> bool {
    let near = &head[head.floor_char_boundary(head.len().saturating_sub(URL_REACH))..];
    let word = near.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.rsplit_once("://")
        .is_some_and(|(_, authority)| !authority.contains(['/', '?', '#']))
}

/// Whether more of the same address follows: "git@host.org:team/project", "a@b.com@c.com".
fn goes_on(tail: &str) -> bool {
    let mut chars = tail.chars();
    match chars.next() {
        Some('@') => true,
        Some(':') => chars
            .next()
            .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '~')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "Пишите: <ivan.petrov+1@mail.example.ru>, почта@пример.рф.Жду";
        assert_eq!(
            found(&Emails, text),
            ["ivan.petrov+1@mail.example.ru", "почта@пример.рф"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "icon@2x.png",
            "lodash@4.17.21",
            "git@github.com:a/b.git",
            "https://u:p@host.ru/",
            "a..b@c.ru",
        ] {
            assert!(found(&Emails, text).is_empty(), "{text}");
        }
    }
}

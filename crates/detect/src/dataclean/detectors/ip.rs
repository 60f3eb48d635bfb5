//! IP (§2.8): IPv4 and IPv6 addresses, parsed by the standard library. A prefix length, port or zone is
//! not part of the find. Version and section numbers do not count.

use super::ip_version::is_version;
use crate::chars::{is_letter, is_word_char};
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use std::net::{Ipv4Addr, Ipv6Addr};

pub(crate) struct Ip;

/// The longest IPv6 address in characters, an embedded IPv4 address included.
const LONGEST_V6: usize = 45;
impl Detector for Ip {
    fn name(&self) -> PatternName {
        PatternName::Ip
    }

    fn needs(&self) -> Needs {
        Needs::DotOrColon
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut push = |start, end| out.push(Span::new(self.name(), start..end, Strength::Form));
        let mut next = 0;
        while next + 3 < text.runs().len() {
            match v4(text, next) {
                Some((start, end)) => {
                    push(start, end);
                    next += 4;
                }
                None => next += 1,
            }
        }
        let original = text.original();
        let mut from = 0;
        while let Some(at) = memchr::memchr(b':', &original.as_bytes()[from..]) {
            let (start, end) = v6_run(original, from, from + at);
            if let Some((start, end)) = v6(original, start, end) {
                push(start, end);
            }
            from = end.max(from + at + 1);
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(numbers(text).min(open_v6(text.original())))
    }
}

/// Where the IPv6 address begins at the earliest that the end of the text may become part of.
fn open_v6(text: &str) -> usize {
    const LONGEST_GROUP: usize = 4;
    let inside = |byte: &&u8| is_inside(**byte);
    let run = text.len() - text.as_bytes().iter().rev().take_while(inside).count();
    let glued = text[..run].ends_with(|c: char| is_word_char(c) || c == '_');
    let colon = text[run..].find(':');
    let first = &text[run..colon.map_or(text.len(), |colon| run + colon)];
    let start = match (glued, colon) {
        (true, Some(colon)) => run + colon + 1,
        (false, _) if first.len() <= LONGEST_GROUP && !first.contains('.') => run,
        _ => return text.len(),
    };
    let rest = &text[start..];
    let single = rest.len() > 1 && rest.starts_with(':') && !rest.starts_with("::");
    let start = start + usize::from(single);
    let core = text[start..].trim_end_matches(['.', ':']);
    if core.len() > LONGEST_V6 {
        text.len()
    } else {
        start
    }
}

/// A character of an IPv6 address.
fn is_inside(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

fn v4(text: &Text, first: usize) -> Option<(usize, usize)> {
    let (start, end) = (text.runs()[first].start, text.runs()[first + 3].end);
    let dots = (first..first + 3).all(|at| text.gap(at) == Some("."));
    if !dots || text.original()[start..end].parse::<Ipv4Addr>().is_err() {
        return None;
    }
    let goes_on_before = match text.before(start) {
        Some('-') => text.original()[..start - 1].ends_with(is_letter),
        Some(c) => is_word_char(c) || matches!(c, '.' | '_'),
        None => false,
    };
    let rest = &text.original().as_bytes()[end..];
    let goes_on = match rest {
        [b'.' | b'-' | b'+', next, ..] => {
            next.is_ascii_alphanumeric() && !(rest[0] == b'-' && next.is_ascii_digit())
        }
        _ => text.at(end).is_some_and(|c| is_word_char(c) || c == '_'),
    };
    (!goes_on_before && !goes_on && !is_version(&text.original()[..start])).then_some((start, end))
}

/// The run of hexadecimal digits, colons and dots around a colon, not before `from`.
fn v6_run(text: &str, from: usize, colon: usize) -> (usize, usize) {
    let inside = |byte: &&u8| is_inside(**byte);
    let bytes = text.as_bytes();
    let back = bytes[from..colon].iter().rev().take_while(inside).count();
    let forth = bytes[colon..].iter().take_while(inside).count();
    (colon - back, colon + forth)
}

fn v6(text: &str, mut start: usize, mut end: usize) -> Option<(usize, usize)> {
    let alphanumeric = |c: char| is_word_char(c) || c == '_';
    if text[..start].ends_with(alphanumeric) {
        // "address:2001:db8::1" begins with letters that belong to the word.
        start += text[start..end].find(':')? + 1;
    }
    let single_colon = |run: &str| run.starts_with(':') && !run.starts_with("::");
    start += usize::from(single_colon(&text[start..end]));
    end -= text[start..end].len() - text[start..end].trim_end_matches('.').len();
    end -= usize::from(text[start..end].ends_with(':') && !text[start..end].ends_with("::"));
    let run = &text[start..end];
    let fits = (3..=LONGEST_V6).contains(&run.len()) && !text[end..].starts_with(alphanumeric);
    let index = text[..start]
        .strip_suffix('[')
        .is_some_and(|head| head.ends_with([')', ']']) || head.ends_with(alphanumeric));
    (fits && !index && run.parse::<Ipv6Addr>().is_ok() && !is_code(run)).then_some((start, end))
}

/// Paths, slices, times and EUI-64 hardware addresses that happen to parse: "a::b", "::2", "10::30".
fn is_code(run: &str) -> bool {
    let first = run.split(':').next().unwrap_or_default();
    let digits = run.bytes().any(|byte| byte.is_ascii_digit());
    let pairs = run.split(':').all(|group| group.len() == 2);
    let short = match first.len() {
        0 => run != "::1" && !run.contains('.') && run.matches(':').count() < 4,
        1 | 2 => run.contains("::") && !run.starts_with("64:ff9b::"),
        _ => false,
    };
    short || pairs || !digits
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        assert_eq!(
            found(&Ip, "С 10.0.0.1-10.0.0.20:80, 8.8.8.8."),
            ["10.0.0.1", "10.0.0.20", "8.8.8.8"]
        );
        assert_eq!(
            found(&Ip, "[2001:db8::1]:443, адрес:fe80::1%eth0"),
            ["2001:db8::1", "fe80::1"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "v1.2.3.4",
            "версия 1.2.3.4",
            "256.1.1.1",
            "1.2.3.4.5",
            "std::fs a::b 12:30:45",
            "x[::2]",
        ] {
            assert!(found(&Ip, text).is_empty(), "{text}");
        }
    }
}

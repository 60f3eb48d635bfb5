//! PRIVATE_KEY: blocks of PEM, OpenSSH and PGP, key files of PuTTY, keys of age. A header without a key in it is none.

use super::nearby::stands_alone;
use crate::chars::is_word_char;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use memchr::memmem;
use std::ops::Range;

pub(crate) struct PrivateKey;

/// What all PEM headers hold.
const PEM: &str = "PRIVATE KEY";
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// Between the beginning of a header and what all hold, in bytes: "ENCRYPTED ", "OPENSSH ".
const KIND: usize = 16;
/// The longest key that is looked for, in bytes.
const LONGEST: usize = 16 * 1024;
/// Signs of Base64 in one of its lines at least.
const FEWEST_SIGNS: usize = 40;
/// Lines of fewer signs are stepped over.
const SHORT: usize = 16;
const PUTTY: &str = "PuTTY-User-Key-File-";
const PUTTY_END: &str = "Private-MAC:";
const AGE: &str = "AGE-SECRET-KEY-1";
const AGE_SIGNS: usize = 58;

/// Gives the key at an anchor, if there is one.
type Reader = fn(&str, usize) -> Option<Range<usize>>;

impl Detector for PrivateKey {
    fn name(&self) -> PatternName {
        PatternName::PrivateKey
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let whole = text.original();
        let forms: [(&str, Reader); 3] = [(PEM, pem), (PUTTY, putty), (AGE, age)];
        for (anchor, read) in forms {
            let mut taken = 0;
            for at in memmem::find_iter(whole.as_bytes(), anchor) {
                let place = Some(at).filter(|at| *at >= taken);
                if let Some(place) = place.and_then(|at| read(whole, at)) {
                    taken = place.end;
                    out.push(Span::new(self.name(), place, Strength::CheckDigits));
                }
            }
        }
    }
}

/// From its header to its end; without one as far as Base64 goes.
fn pem(text: &str, at: usize) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(at.saturating_sub(BEGIN.len() + KIND));
    let start = from + text[from..at].rfind(BEGIN)?;
    let header = text[at..].strip_prefix(PEM)?;
    let header = header.strip_prefix(" BLOCK").unwrap_or(header);
    let body = header.strip_prefix(DASHES)?;
    let begin = text.len() - body.len();
    let body = &body[..body.floor_char_boundary(LONGEST)];
    // A key has no dashes in it, so that no text is read twice.
    let dashes = body.find(DASHES);
    let key = &body[..dashes.unwrap_or(body.len())];
    if !lines(key).any(|line| line.len() >= FEWEST_SIGNS && line.chars().all(is_base64)) {
        return None;
    }
    let end = dashes.and_then(|at| body[at..].strip_prefix(END));
    let Some(tail) = end else {
        return Some(start..begin + base64_end(key));
    };
    let line = tail.find(DASHES).map_or(0, |line| line + DASHES.len());
    Some(start..begin + body.len() - tail.len() + line)
}

/// Where the last line of Base64 ends, short ones aside.
fn base64_end(key: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    for line in key.split_inclusive(is_break) {
        let signs = line.trim_end_matches(is_break);
        if signs.len() >= SHORT {
            if !signs.chars().all(is_base64) {
                break;
            }
            end = at + signs.len();
        }
        at += line.len();
    }
    end
}

fn lines(key: &str) -> impl Iterator<Item = &str> {
    key.split(is_break)
}

/// Also the line ends of JSON, whose letter is then a part of the next line.
fn is_break(c: char) -> bool {
    c.is_whitespace() || c == '\\'
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// From its header to the line of its check.
fn putty(text: &str, at: usize) -> Option<Range<usize>> {
    let near = &text[at..text.floor_char_boundary(at + LONGEST)];
    let next = near[1..].find(PUTTY);
    let near = &near[..next.map_or(near.len(), |next| next + 1)];
    let check = near.find(PUTTY_END)?;
    let line = &near[check..];
    let line = &line[..line.find(['\n', '\r']).unwrap_or(line.len())];
    Some(at..at + check + line.trim_end().len())
}

fn age(text: &str, at: usize) -> Option<Range<usize>> {
    let key = &text[at + AGE.len()..];
    let is_sign = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let length = key.bytes().take_while(is_sign).count();
    let place = at..at + AGE.len() + length;
    (length == AGE_SIGNS && stands_alone(text, &place, is_word_char)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    /// Signs that are nobody's key.
    fn body(lines: usize) -> String {
        "MIIEinvented0Key0Signs0Of0Nobody0+/AbCdEfGh12345678\n".repeat(lines)
    }

    /// In parts, so that nothing that looks for leaked keys finds one here.
    fn block(kind: &str, body: &str) -> String {
        format!("{BEGIN}{kind}{DASHES}\n{body}{END}{kind}{DASHES}")
    }

    #[test]
    fn good_examples() {
        for kind in ["", "RSA ", "EC ", "ENCRYPTED ", "OPENSSH "] {
            let key = block(&format!("{kind}PRIVATE KEY"), &body(6));
            let text = format!("Ключ:\n{key}\nСпасибо");
            assert_eq!(found(&PrivateKey, &text), [key.as_str()], "{kind}");
            let json = key.replace('\n', "\\n");
            let text = format!("{{\"key\":\"{json}\\n\"}}");
            assert_eq!(found(&PrivateKey, &text), [json.as_str()], "{kind}");
        }
        let pgp = block("PGP PRIVATE KEY BLOCK", &body(3));
        assert_eq!(found(&PrivateKey, &pgp), [pgp.as_str()]);
        let cut = format!("{BEGIN}PRIVATE KEY{DASHES}\n{}", body(2));
        assert_eq!(
            found(&PrivateKey, &format!("{cut}, и так далее")),
            [cut.trim_end()]
        );
    }

    #[test]
    fn keys_of_putty_and_age() {
        let head = "PuTTY-User-Key-File-";
        let putty = format!(
            "{head}3: ssh-ed25519\nPrivate-Lines: 1\n{}Private-MAC: 0011aabb",
            body(1)
        );
        assert_eq!(
            found(&PrivateKey, &format!("{putty}\nend")),
            [putty.as_str()]
        );
        let head = "AGE-SECRET-KEY-";
        let age = format!("{head}1{}", "QP2ZRY9X8G".repeat(6).split_at(58).0);
        assert_eq!(found(&PrivateKey, &format!("age: {age}.")), [age.as_str()]);
    }

    #[test]
    fn near_misses() {
        for text in [
            format!("It begins with {BEGIN}PRIVATE KEY{DASHES} and 1 more line").as_str(),
            block("PRIVATE KEY", "...1...\n").as_str(),
            block("PUBLIC KEY", &body(4)).as_str(),
            block("CERTIFICATE", &body(4)).as_str(),
            "PRIVATE KEY 1",
            "AGE-SECRET-KEY-1ABC",
        ] {
            assert!(found(&PrivateKey, text).is_empty(), "{text}");
        }
    }
}

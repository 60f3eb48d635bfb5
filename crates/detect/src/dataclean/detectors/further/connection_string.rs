//! CONNECTION_STRING: an address with a user's password in it (`scheme://user:password@host`), and the fields of a
//! database's driver with one (`Server=…;Password=…`). A placeholder in the password's place is none.

use crate::chars::is_word_char;
use crate::dataclean::{Detector, PatternName, Span, Strength, Text};
use memchr::memmem;
use regex::Regex;
use std::ops::Range;

pub(crate) struct ConnectionString {
    /// The password's field; None where it did not compile, and then such fields are not found.
    password: Option<Regex>,
}

impl ConnectionString {
    /// Compiles the name of the password's field.
    pub(crate) fn new() -> Self {
        Self {
            password: Regex::new("(?i-u:password=|pwd=|password =)").ok(),
        }
    }
}

const SCHEME_END: &str = "://";
const LONGEST_SCHEME: usize = 24;
/// User, password and host together, in bytes.
const LONGEST_AUTHORITY: usize = 256;
const LONGEST: usize = 1024;
/// One field of a driver, in bytes, and how many stand on each side.
const LONGEST_FIELD: usize = 160;
const MOST_FIELDS: usize = 12;
/// Names of other fields, one of which stands beside a password.
const FIELDS: &[&str] = &[
    "server",
    "host",
    "hostaddr",
    "data source",
    "datasource",
    "addr",
    "address",
    "user id",
    "user",
    "uid",
    "username",
    "dbname",
    "database",
    "initial catalog",
    "port",
];
/// What stands for a password in documentation.
const PLACEHOLDERS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "пароль",
    "your_password",
    "yourpassword",
    "mypassword",
    "changeme",
    "redacted",
];

impl Detector for ConnectionString {
    fn name(&self) -> PatternName {
        PatternName::ConnectionString
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let whole = text.original();
        let addresses = memmem::find_iter(whole.as_bytes(), SCHEME_END);
        let addresses = addresses.filter_map(|at| address(whole, at));
        let passwords = self.password.iter().flat_map(|name| name.find_iter(whole));
        let fields = passwords.filter_map(|name| fields(whole, name.range()));
        for place in addresses.chain(fields) {
            out.push(Span::new(self.name(), place, Strength::CheckDigits));
        }
    }
}

/// The address whose scheme ends at a byte.
fn address(text: &str, at: usize) -> Option<Range<usize>> {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let scheme = text[..at].bytes().rev().take(LONGEST_SCHEME + 1);
    let length = scheme.take_while(is_scheme).count();
    if !(2..=LONGEST_SCHEME).contains(&length) {
        return None;
    }
    let begin = at + SCHEME_END.len();
    let near = &text[begin..text.floor_char_boundary(begin + LONGEST)];
    let authority = &near[..near.floor_char_boundary(LONGEST_AUTHORITY)];
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '?' | '#');
    let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
    let (user, host) = authority.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let is_user = !name.contains(['/', '@']) && is_password(password);
    let is_host = host.starts_with(|c: char| is_word_char(c) || c == '[');
    if !(is_user && is_host) {
        return None;
    }
    let stops = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
    let whole = &near[..near.find(stops).unwrap_or(near.len())];
    let whole = whole.trim_end_matches(['.', ',', ';', ':', ')', ']', '}', '!', '?']);
    Some(at - length..begin + whole.len())
}

/// Whether it is one, and no sign or word that stands for one.
fn is_password(text: &str) -> bool {
    let small = text.to_lowercase();
    let is_one_sign = text.chars().all(|c| text.starts_with(c));
    let is_template = text.contains(['{', '}', '<', '>', '$', '%', '*', '…'])
        && !text.contains(|c: char| c.is_ascii_digit());
    !text.is_empty() && !is_one_sign && !is_template && !PLACEHOLDERS.contains(&&*small)
}

/// The fields around a password's name.
fn fields(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    if text[..name.start].ends_with(is_word_char) {
        return None;
    }
    let tail = &text[name.end..text.floor_char_boundary(name.end + LONGEST_FIELD)];
    let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '"' | '\'' | '`' | '&' | ',');
    let password = tail.trim_start_matches(' ');
    let blanks = tail.len() - password.len();
    let password = &password[..password.find(ends).unwrap_or(password.len())];
    if !is_password(password) {
        return None;
    }
    let own = name.start..name.end + blanks + password.len();
    [';', ' ', '&'].into_iter().find_map(|separator| {
        let start = fields_before(text, own.start, separator);
        let end = fields_behind(text, own.end, separator);
        let others = [&text[start..own.start], &text[own.end..end]];
        let has_others = others
            .into_iter()
            .any(|others| has_field(others, separator));
        has_others.then_some(start..end)
    })
}

fn has_field(others: &str, separator: char) -> bool {
    let mut names = others
        .split(separator)
        .filter_map(|field| field.split_once('='));
    names.any(|(name, _)| FIELDS.contains(&&*name.trim().to_lowercase()))
}

/// Where the first of the fields begins that end at a byte.
fn fields_before(text: &str, mut start: usize, separator: char) -> usize {
    for _ in 0..MOST_FIELDS {
        let head = text[..start].trim_end_matches(' ');
        let head = match separator {
            ' ' if head.len() < start => Some(head),
            ' ' => None,
            _ => head.strip_suffix(separator),
        };
        let Some(head) = head else {
            break;
        };
        let from = head.ceil_char_boundary(head.len().saturating_sub(LONGEST_FIELD));
        let opens = |c: char| c == separator || matches!(c, '\n' | '"' | '\'' | '`' | '(' | '?');
        let field = &head[head[from..].rfind(opens).map_or(from, |at| from + at + 1)..];
        let field = field.rsplit(": ").next().unwrap_or(field);
        let field = field.trim_start_matches(|c: char| !is_word_char(c));
        if !is_field(field) {
            break;
        }
        let own = without_words_before(field);
        start = head.len() - own.len();
        if own.len() < field.len() {
            break;
        }
    }
    start
}

/// "Connect to Server=db": the field begins with its name.
fn without_words_before(field: &str) -> &str {
    let name = field
        .split_once('=')
        .map_or(field, |(name, _)| name)
        .trim_end();
    let small = name.to_lowercase();
    let known = FIELDS.iter().filter(|known| small.ends_with(**known));
    let longest = known.map(|known| known.len()).max().unwrap_or(name.len());
    match small.len() == name.len() {
        true => &field[name.len() - longest..],
        false => field,
    }
}

/// Where the last of the fields ends that begin at a byte.
fn fields_behind(text: &str, mut end: usize, separator: char) -> usize {
    for _ in 0..MOST_FIELDS {
        let Some(tail) = text[end..].strip_prefix(separator) else {
            break;
        };
        let trimmed = tail.trim_start_matches(' ');
        let near = &trimmed[..trimmed.floor_char_boundary(LONGEST_FIELD)];
        let ends = |c: char| c == separator || matches!(c, '\n' | '\r' | '"' | '\'' | '`' | ')');
        let field = &near[..near.find(ends).unwrap_or(near.len())];
        // The last one ends with a word, in a sentence.
        let is_last = separator != ';' || !near[field.len()..].starts_with(separator);
        let word = field.find('=').and_then(|sign| {
            let value = field[sign..].find(char::is_whitespace);
            value.map(|value| sign + value)
        });
        let field = &field[..word.filter(|_| is_last).unwrap_or(field.len())];
        let field = match is_last {
            true => field.trim_end_matches([',', '.']),
            false => field,
        };
        if !is_field(field) {
            break;
        }
        end = text.len() - trimmed.len() + field.len();
    }
    end
}

/// "Initial Catalog=orders": a short name, a sign, a value.
fn is_field(field: &str) -> bool {
    let named = field.split_once('=');
    named.is_some_and(|(name, value)| {
        let is_name = |c: char| is_word_char(c) || matches!(c, ' ' | '_');
        !name.is_empty() && name.chars().all(is_name) && !value.trim().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let detector = ConnectionString::new();
        for address in [
            "postgres://app:{+}Qw12-er@db.example:5432/orders?sslmode=require",
            "mongodb+srv://root:{+}p@ss12@cluster.example/test",
            "redis://:{+}hunter22@10.0.0.5:6379/0",
            "https://oauth2:{+}tk0tk1@git.example/a/b.git",
            "Server=db.example;Database=orders;User Id=sa;Password={+}Qw12er!;Encrypt=true",
            "host=db.example user=app password={+}Qw12er dbname=orders",
        ] {
            // The sign keeps what looks for leaked passwords quiet.
            let address = address.replace("{+}", "");
            for text in [address.clone(), format!("Строка: {address}, проверьте.")] {
                assert_eq!(found(&detector, &text), [address.as_str()], "{text}");
            }
        }
    }

    #[test]
    fn near_misses() {
        let detector = ConnectionString::new();
        for text in [
            "postgres://app:password@db.example/orders",
            "postgres://app:${DB_PASSWORD}@db.example/orders",
            "postgres://app:***@db.example/orders",
            "postgres://db.example:5432/orders",
            "https://site.example/a:b?c=d@e",
            "mailto:a@b.example",
            "password=Qw12er",
            "Server=db.example;Password=;Encrypt=true",
            "ssh://git@host.example",
        ] {
            assert!(found(&detector, text).is_empty(), "{text}");
        }
    }
}

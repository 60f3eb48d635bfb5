//! Finds parameters that are tuples of unlike things: `(name, value): (&str, u64)` hides two parameters
//! behind one. A pair of like things, such as `(from, to): (i64, i64)`, is one thing.

use crate::circles::without_tests;
use regex::Regex;
use std::sync::LazyLock;

/// The offending parameters of a source without comments and strings, as they are written.
pub(crate) fn tuples(source: &str) -> Vec<String> {
    static FUNCTION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bfn\s+\w+(?:<[^(]*>)?\s*\(").unwrap());
    let source = without_tests(source);
    let mut found = Vec::new();
    for function in FUNCTION.find_iter(source) {
        for parameter in split(&source[function.end()..]) {
            if is_mixed(&parameter) {
                found.push(parameter.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    found
}

/// The items up to the bracket that closes a list whose opening one is already read.
fn split(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    let mut before = ' ';
    for letter in list.chars() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' => {}
            ')' | ']' | '}' | '>' if depth == 0 => break,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                items.push(String::new());
                before = letter;
                continue;
            }
            _ => {}
        }
        before = letter;
        if let Some(item) = items.last_mut() {
            item.push(letter);
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

/// Whether a parameter's type is a tuple of two types or more.
fn is_mixed(parameter: &str) -> bool {
    static TYPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[^:]:\s*(&?\s*(?:mut\s+)?)\(").unwrap());
    let Some(start) = TYPE.find(parameter) else {
        return false;
    };
    let types = split(&parameter[start.end()..]);
    types.iter().any(|one| one.trim() != types[0].trim())
}

#[cfg(test)]
mod tests {
    use super::tuples;

    #[test]
    fn tuples_of_unlike_things_are_seen_and_pairs_and_callbacks_are_not() {
        assert_eq!(
            tuples("fn f<T>(&self, (name, size): (&str, u64), x: u8) -> (u8, u16) {}"),
            ["(name, size): (&str, u64)"]
        );
        assert_eq!(tuples("fn f(pair: &(u8, &str)) {}"), ["pair: &(u8, &str)"]);
        assert!(tuples("fn f((from, to): (i64, i64), g: impl Fn((u8, &str)) -> u8) {}").is_empty());
        assert!(tuples("fn f(list: &[(u8, &str)], map: Vec<(u8, String)>) {}").is_empty());
    }
}

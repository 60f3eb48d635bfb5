//! The placeholders of one call (CONTRACT 41): the value that each stands for, and where they occur in a
//! text. Pure. The values are personal data, so there is no `Debug`, and none goes into a log line or an
//! error.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, Range};

/// The placeholders that were issued, each of the form `[TYPE_n]`.
#[derive(Clone, Default)]
pub(crate) struct Placeholders {
    values: BTreeMap<String, String>,
    longest: usize,
}

/// Issues placeholders: one for each value of a type, numbered from 1 for each type.
pub(super) struct Issuer {
    placeholders: Placeholders,
    known: HashMap<(&'static str, String), String>,
    numbers: HashMap<&'static str, u64>,
    reserved: HashSet<String>,
}

impl Issuer {
    /// `reserved` are not issued, because the prompt itself contains them.
    pub(super) fn new(reserved: HashSet<String>) -> Self {
        Self {
            placeholders: Placeholders::default(),
            known: HashMap::new(),
            numbers: HashMap::new(),
            reserved,
        }
    }

    /// The placeholder for a value.
    pub(super) fn issue(&mut self, kind: &'static str, value: &str) -> &str {
        let known = self.known.entry((kind, value.to_owned()));
        known.or_insert_with(|| {
            let number = self.numbers.entry(kind).or_default();
            let placeholder = loop {
                *number += 1;
                let placeholder = format!("[{kind}_{number}]");
                if !self.reserved.contains(&placeholder) {
                    break placeholder;
                }
            };
            self.placeholders.add(placeholder.clone(), value);
            placeholder
        })
    }

    /// All placeholders that were issued.
    pub(super) fn finish(self) -> Placeholders {
        self.placeholders
    }
}

impl Placeholders {
    fn add(&mut self, placeholder: String, value: &str) {
        self.longest = self.longest.max(placeholder.len());
        self.values.insert(placeholder, value.to_owned());
    }

    /// The placeholders in a text with their values, in order.
    pub(super) fn find(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let place =
            |span: Range<usize>| Some((span.clone(), self.values.get(&text[span])?.as_str()));
        candidates(text, self.longest).filter_map(place).collect()
    }

    /// The start of a placeholder that later text may complete; the text's length if there is none.
    pub(super) fn unfinished(&self, text: &str) -> usize {
        let begun = memchr::memrchr(b'[', text.as_bytes()).filter(|at| {
            let begin = &text[*at..];
            let next = self
                .values
                .range::<str, _>((Bound::Included(begin), Bound::Unbounded))
                .next();
            next.is_some_and(|(placeholder, _)| {
                placeholder.len() > begin.len() && placeholder.starts_with(begin)
            })
        });
        begun.unwrap_or(text.len())
    }
}

/// The parts of a text that have the form of a placeholder of at most `longest` bytes.
pub(super) fn candidates(text: &str, longest: usize) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'[', bytes).filter_map(move |start| {
        let within = &bytes[start..bytes.len().min(start.saturating_add(longest))];
        let end = within.iter().position(|byte| *byte == b']')?;
        // Of two opening brackets, the inner one begins the placeholder.
        let inner = memchr::memchr(b'[', &within[1..end]);
        inner.is_none().then_some(start..start + end + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::{HashSet, Issuer, Placeholders};

    fn issued(values: &[(&'static str, &str)], reserved: &[&str]) -> (Vec<String>, Placeholders) {
        let reserved: HashSet<String> = reserved.iter().map(|word| (*word).to_owned()).collect();
        let mut issuer = Issuer::new(reserved);
        let names = values.iter();
        let names = names.map(|(kind, value)| issuer.issue(kind, value).to_owned());
        (names.collect(), issuer.finish())
    }

    #[test]
    fn numbers_count_from_one_by_type_and_a_value_keeps_its_number() {
        let values = [
            ("IP", "a"),
            ("EMAILS", "b"),
            ("IP", "c"),
            ("IP", "a"),
            ("EMAILS", "a"),
        ];
        let (names, _) = issued(&values, &["[IP_2]", "[IP_02]", "[EMAILS_1]"]);
        assert_eq!(
            names,
            ["[IP_1]", "[EMAILS_2]", "[IP_3]", "[IP_1]", "[EMAILS_3]"]
        );
    }

    #[test]
    fn only_what_was_issued_is_found() {
        let (_, placeholders) = issued(&[("IP", "a"), ("IP", "b"), ("INN", "c")], &[]);
        let text = "[IP_1][IP_3] [[INN_1]] [IP_1 [IP_2] [ip_1] [IP_01] [ж] []]";
        let found: Vec<_> = placeholders
            .find(text)
            .into_iter()
            .map(|(span, value)| (&text[span], value))
            .collect();
        assert_eq!(found, [("[IP_1]", "a"), ("[INN_1]", "c"), ("[IP_2]", "b")]);
        assert!(Placeholders::default().find(text).is_empty());
    }

    #[test]
    fn text_that_may_become_a_placeholder_is_distinguished_from_text_that_cannot() {
        let many: Vec<(&str, String)> = (0..12).map(|n| ("IP", n.to_string())).collect();
        let many: Vec<_> = many
            .iter()
            .map(|(kind, value)| (*kind, value.as_str()))
            .collect();
        let (_, placeholders) = issued(&many, &[]);
        for (text, held) in [
            ("x[", "["),
            ("x[I", "[I"),
            ("[[IP_", "[IP_"),
            ("x[IP_1", "[IP_1"),
            ("x[IP_12", "[IP_12"),
            ("x[IP_2", "[IP_2"),
            ("x[IP_13", ""),
            ("x[IP_1]", ""),
            ("x[IP_1x", ""),
            ("x[i", ""),
            ("x[ж", ""),
            ("x", ""),
            ("", ""),
        ] {
            assert_eq!(&text[placeholders.unfinished(text)..], held, "{text}");
        }
        assert_eq!(Placeholders::default().unfinished("["), 1);
    }
}

//! Reads a YAML file into a tree, in one pass over the parser's events, so that the work grows with the file
//! and not with what is wrong in it. Bytes, depth, the length of a key and what aliases expand to are bounded;
//! repeated keys are reported with every other problem, and the first of them counts.

use super::tree::{Open, Refusal, Tree};
use super::yaml::{Node, Value};
use crate::config::problem::{Origin, Problem};
use saphyr::{Scalar, Tag};
use saphyr_parser::{Event, Parser, ScanError};
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file. A parser needs many times a file's bytes in memory.
const LARGEST_MIB: u64 = 4;

/// One configuration file, parsed.
pub(crate) struct Document {
    /// The path as given.
    pub(crate) path: String,
    /// The root of the document; [`Value::Null`] for an empty file.
    pub(crate) root: Node,
}

impl Document {
    /// Reads a file. Returns the document, which keeps the first of repeated keys, and their problems.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is not one YAML document with keys.
    pub(crate) fn read(path: &Path) -> Result<(Self, Vec<Problem>), Problem> {
        let label = path.display().to_string();
        let text = read_text(path).map_err(|text| problem(&label, None, String::new(), text))?;
        Self::parse(label, &text)
    }

    fn parse(path: String, text: &str) -> Result<(Self, Vec<Problem>), Problem> {
        let text = text.trim_start_matches('\u{FEFF}');
        let (root, repeated) =
            load(text).map_err(|(line, text)| problem(&path, Some(line), String::new(), text))?;
        let repeated = repeated.into_iter().map(|(line, key)| {
            let text = match key.is_empty() {
                true => "further keys are set twice; mend those that are listed first",
                false => "is set twice; allowed: once in its group",
            };
            problem(&path, Some(line), key, text.to_owned())
        });
        let repeated = repeated.collect();
        Ok((Self { path, root }, repeated))
    }
}

fn problem(path: &str, line: Option<usize>, key: String, text: String) -> Problem {
    let path = path.to_owned();
    Problem {
        origin: Origin::File { path, line },
        key,
        text,
    }
}

/// The file may be a pipe, so its end is found by reading.
fn read_text(path: &Path) -> Result<String, String> {
    let limit = LARGEST_MIB << 20;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!(
            "is larger than {LARGEST_MIB} MiB; allowed: a smaller file, with applications in a policy store"
        ));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// The tree, and the repeated keys with their lines.
fn load(text: &str) -> Result<(Node, Vec<(usize, String)>), Refusal> {
    let mut tree = Tree::default();
    let last_line = last_line(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| invalid(&error, last_line))?;
        let line = span.start.line().min(last_line);
        match event {
            Event::SequenceStart(anchor, tag) => {
                tree.open(Open::list(line, anchor, is_tagged(tag.as_ref())))?;
            }
            Event::MappingStart(anchor, tag) => {
                tree.open(Open::map(line, anchor, is_tagged(tag.as_ref())))?;
            }
            Event::SequenceEnd | Event::MappingEnd => tree.close()?,
            Event::Scalar(text, style, anchor, tag) => {
                let value = match is_tagged(tag.as_ref()) {
                    true => Value::Other,
                    false => value(Scalar::parse_from_cow_and_metadata(
                        text,
                        style,
                        tag.as_ref(),
                    )),
                };
                tree.add(Node { line, value }, anchor)?;
            }
            Event::Alias(anchor) => tree.add_alias(line, anchor)?,
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }
    let (root, repeated) = tree.finish();
    match root.value {
        Value::Map(_) | Value::Null => Ok((root, repeated)),
        other => Err((
            root.line,
            format!("is {}; allowed: keys with values", other.shape()),
        )),
    }
}

/// The parser adds a line break to a text without one at its end, and may name the line behind it.
fn last_line(text: &str) -> usize {
    let breaks = text.replace("\r\n", "\n").matches(['\r', '\n']).count();
    breaks + 1
}

fn invalid(error: &ScanError, last_line: usize) -> Refusal {
    let reason = format!("is not valid YAML: {}", error.info());
    (error.marker().line().min(last_line), reason)
}

/// Whether a node has a tag of its own, which no key accepts.
fn is_tagged(tag: Option<&Cow<'_, Tag>>) -> bool {
    tag.is_some_and(|tag| !tag.is_yaml_core_schema())
}

fn value(scalar: Option<Scalar<'_>>) -> Value {
    match scalar {
        Some(Scalar::Null) => Value::Null,
        Some(Scalar::Boolean(flag)) => Value::Flag(flag),
        Some(Scalar::Integer(number)) => Value::Number(number.to_string()),
        Some(Scalar::FloatingPoint(number)) => Value::Number(number.to_string()),
        Some(Scalar::String(text)) => Value::Text(text.into_owned()),
        None => Value::Other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        match Document::parse("f".to_owned(), text) {
            Ok((_, problems)) => problems.iter().map(ToString::to_string).collect(),
            Err(problem) => vec![problem.to_string()],
        }
    }

    #[test]
    fn every_repeated_key_is_named_with_its_line() {
        let text = "# é\na: 1\n\"a\": 2\nb: {c: 1, c: 2}\nl:\n  - x: 1\n    'x': 2\n";
        let expected = [
            "f:3: a: is set twice; allowed: once in its group",
            "f:4: b.c: is set twice; allowed: once in its group",
            "f:7: l[0].x: is set twice; allowed: once in its group",
        ];
        assert_eq!(problems(text), expected);
        let (document, _) = Document::parse("f".to_owned(), text).unwrap();
        let Value::Map(entries) = document.root.value else {
            panic!("keys")
        };
        assert!(matches!(&entries[0].node.value, Value::Number(first) if first == "1"));
    }

    #[test]
    fn a_key_without_a_name_is_at_a_line_of_the_file() {
        // Found by fuzzing; the last line may have no end.
        let empty = "is set twice; allowed: once in its group";
        assert_eq!(problems("? \n? "), [format!("f:2: (empty): {empty}")]);
    }

    #[test]
    fn a_key_with_control_characters_is_named_on_one_line() {
        let text = "\"a\\n\\e\": 1\n\"a\\n\\e\": 2\n";
        let expected = ["f:2: a\\n\\u{1b}: is set twice; allowed: once in its group"];
        assert_eq!(problems(text), expected);
    }

    #[test]
    fn an_empty_file_is_an_empty_document() {
        for text in [
            "",
            "# only a comment\n",
            "---\n",
            "null\n",
            "\u{FEFF}# mark\n",
        ] {
            assert_eq!(problems(text), Vec::<String>::new(), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_document_of_keys_is_refused_at_its_line() {
        let aliases = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned()
            + &(b'b'..=b'h')
                .map(|name| {
                    let (name, before) = (char::from(name), char::from(name - 1));
                    format!(
                        "{name}: &{name} [{}]\n",
                        vec![format!("*{before}"); 10].join(", ")
                    )
                })
                .collect::<String>();
        for (text, start) in [
            ("\n- a\n".to_owned(), "f:2: is a list"),
            ("word".to_owned(), "f:1: is text"),
            ("a: 1\n---\nb: 2\n".to_owned(), "f:3: is a second document"),
            ("a: [1\nb: 2\n".to_owned(), "f:2: is not valid YAML"),
            // The last line may have no end.
            (
                "a:\n  - b: \"x\"\n    c: {d: /e.pem, f: /k.pe".to_owned(),
                "f:3: is not valid YAML",
            ),
            ("- ".repeat(100_000), "f:1: is nested too deeply"),
            (
                format!("a: {}", "[".repeat(200)),
                "f:1: is nested too deeply",
            ),
            (
                format!("a: 1\n{}: 2\n", "x".repeat(257)),
                "f:2: has a key that is longer than 256 bytes",
            ),
            (
                aliases,
                "f:5: has aliases that stand for more than 100000 values",
            ),
        ] {
            let found = problems(&text);
            assert!(found[0].starts_with(start), "{start}: {found:?}");
        }
    }

    #[test]
    fn an_alias_stands_for_its_value() {
        let text = "a: &a {b: [1, x]}\nc: *a\nd: !own 1\ne: !!str 1\n";
        let (document, _) = Document::parse("f".to_owned(), text).unwrap();
        let Value::Map(entries) = document.root.value else {
            panic!("keys")
        };
        let Value::Map(copied) = &entries[1].node.value else {
            panic!("a copy")
        };
        assert!(matches!(&copied[0].node.value, Value::List(items) if items.len() == 2));
        assert!(matches!(entries[2].node.value, Value::Other));
        assert!(matches!(&entries[3].node.value, Value::Text(text) if text == "1"));
    }
}

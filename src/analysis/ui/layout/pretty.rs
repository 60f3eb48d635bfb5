//! JSON formatted for reading. Only white space between its values changes, so that finds keep their places. What is no
//! JSON is shown as it is, letter by letter, even if it begins like some.

use monitor_model::Entity;
use monitor_wire::json::{SyntaxKind, scan};

/// Levels that are indented; deeper ones stand below the last.
const DEEPEST: usize = 12;
/// The most bytes of an escape, a number or a word in which a text that is cut may end.
const LONGEST_END: usize = 12;

/// A text that may be JSON.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) text: &'t str,
    /// It is only the beginning.
    pub(crate) is_cut: bool,
    pub(crate) entities: &'t [Entity],
}

impl Source<'_> {
    /// Whether it is an object or a list, or the beginning of one where it is cut.
    fn is_json(self) -> bool {
        if !self.text.trim_start().starts_with(['{', '[']) {
            return false;
        }
        scan(self.text.as_bytes()).err().is_none_or(|error| {
            let is_end = error.kind == SyntaxKind::UnexpectedEnd
                || error.offset + LONGEST_END >= self.text.len();
            self.is_cut && is_end
        })
    }
}

/// A text as it is shown.
pub(crate) struct FormattedText {
    pub(crate) text: String,
    /// The finds at their places in it.
    pub(crate) entities: Vec<Entity>,
    /// The text goes on.
    pub(crate) is_cut: bool,
}

/// A text with its finds, formatted if it is JSON; about `most` bytes of it then.
pub(crate) fn formatted(source: Source<'_>, most: usize) -> FormattedText {
    let Source { text, entities, .. } = source;
    if !source.is_json() {
        return FormattedText {
            text: text.to_owned(),
            entities: entities.to_vec(),
            is_cut: false,
        };
    }
    let mut layout = Layout::default();
    let mut is_cut = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if layout.text.len() > most {
            is_cut = true;
            break;
        }
        let opens = matches!(c, '{' | '[');
        let is_next = |c: &char| !c.is_ascii_whitespace();
        let next = opens.then(|| rest.clone().find(is_next)).flatten();
        layout.push(c, next);
    }
    FormattedText {
        entities: layout.moved(entities),
        text: layout.text,
        is_cut,
    }
}

#[derive(Default)]
struct Layout {
    text: String,
    /// Code points that are written.
    written: usize,
    /// Where each code point of the source stands.
    places: Vec<usize>,
    depth: usize,
    is_string: bool,
    is_escaped: bool,
}

impl Layout {
    /// Writes a code point; `next` is the one that follows, without white space.
    fn push(&mut self, c: char, next: Option<char>) {
        if self.is_string {
            self.write(c);
            let ends = c == '"' && !self.is_escaped;
            self.is_string = !ends;
            self.is_escaped = c == '\\' && !self.is_escaped;
            return;
        }
        match c {
            '{' | '[' => {
                self.write(c);
                self.depth += 1;
                if !matches!(next, Some('}' | ']')) {
                    self.line();
                }
            }
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if !self.text.ends_with(['{', '[']) {
                    self.line();
                }
                self.write(c);
            }
            ',' => {
                self.write(c);
                self.line();
            }
            ':' => {
                self.write(c);
                self.space(' ');
            }
            c if c.is_ascii_whitespace() => self.places.push(self.written),
            c => {
                self.is_string = c == '"';
                self.write(c);
            }
        }
    }

    /// Writes a code point of the source.
    fn write(&mut self, c: char) {
        self.places.push(self.written);
        self.space(c);
    }

    fn space(&mut self, c: char) {
        self.text.push(c);
        self.written += 1;
    }

    fn line(&mut self) {
        self.space('\n');
        for _ in 0..2 * self.depth.min(DEEPEST) {
            self.space(' ');
        }
    }

    fn moved(&self, entities: &[Entity]) -> Vec<Entity> {
        let moved = |entity: &Entity| {
            let start = *self.places.get(entity.start)?;
            let last = self.places.get(entity.end.checked_sub(1)?)?;
            Some(Entity {
                kind: entity.kind.clone(),
                start,
                end: last + 1,
            })
        };
        entities.iter().filter_map(moved).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn source<'t>(text: &'t str, is_cut: bool, entities: &'t [Entity]) -> Source<'t> {
        Source {
            text,
            is_cut,
            entities,
        }
    }

    #[test]
    fn only_white_space_between_values_changes_and_finds_keep_their_places() {
        let text = r#"{"a":[1,{}],"b" : "x, {y}\"","c":{"d":[]}}"#;
        let at = text.find("{y}").unwrap();
        let find = Entity {
            kind: "T".into(),
            start: at,
            end: at + 3,
        };
        let shown = formatted(source(text, false, &[find]), 1_000);
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x, {y}\\\"\",\n  \"c\": {\n    \"d\": []\n  }\n}";
        assert_eq!(shown.text, expected);
        let found = &shown.entities[0];
        let marked: String = shown
            .text
            .chars()
            .skip(found.start)
            .take(found.end - found.start)
            .collect();
        assert_eq!((marked.as_str(), shown.is_cut), ("{y}", false));
    }

    #[test]
    fn what_is_no_json_is_shown_as_it_is() {
        for text in [
            "ls -la {x}",
            "[package]\nname = \"x\"\n",
            "[main 1a2b] fix  bug",
            "[INFO] not found: a b",
            "{% if x %} y",
            "[1, 2] and  more",
            "[\"a\",  b]",
            "[\"a\", \"b",
        ] {
            let plain = formatted(source(text, false, &[]), 4);
            assert_eq!((&*plain.text, plain.is_cut), (text, false));
        }
        let cut = formatted(
            source("[package]\nname = \"x\"\nversion  = 1", true, &[]),
            100,
        );
        assert_eq!(cut.text, "[package]\nname = \"x\"\nversion  = 1");
    }

    #[test]
    fn the_beginning_of_json_is_formatted_and_a_hostile_depth_is_bounded() {
        for end in ["\"cmd\":\"l", "\"cmd\":\"\\u00", "\"cmd\":tru", "\"cmd\":-"] {
            let cut = formatted(source(&format!("{{{end}"), true, &[]), 100);
            assert_eq!(cut.text, format!("{{\n  {}", end.replace(':', ": ")));
        }
        let deep = formatted(source(&"[".repeat(100_000), true, &[]), 500);
        assert!(deep.is_cut && deep.text.len() < 600, "{}", deep.text.len());
    }
}

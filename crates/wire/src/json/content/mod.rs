//! What of a message is text (CONTRACT 42): every string that a model server may read, whatever the part
//! around it calls itself. Images, audio and files are not text (§4.1 rule 3), nor are the attributes of a
//! part.

mod meaning;
mod other_text;
mod text_path;

pub(crate) use other_text::{CallText, OtherText, Place, TopMember, other_texts};
pub(super) use other_text::{OtherTexts, texts_beside, texts_of};
pub use text_path::TextPath;

use super::kind::Kind;
use super::name::{is_exactly, is_in_any_case};
use super::view::View;
use meaning::{DEEPEST, Meaning, is_textual};
use std::ops::{ControlFlow, Range};

/// One value of a content.
pub(super) enum Piece<'a> {
    /// A string that a model server may read.
    Text(View<'a>),
    /// One that it may read, of a member that is not the text of its part or message: behind the texts it
    /// stands between none of them.
    Aside(View<'a>),
    /// The name of who speaks. A model server may refuse one of an odd form.
    Name(View<'a>),
    /// Something stands where text is expected and is none: a number, or a value nested too deeply.
    Unreadable,
}

/// The members of a message that hold its text, in any case. Clients and servers agree on `content`.
const OF_MESSAGE: [&str; 2] = ["content", "parts"];
/// What some servers read beside it. Arguments of earlier tool calls are JSON again and not among them.
const BESIDE: [&str; 5] = [
    "text",
    "refusal",
    "reasoning",
    "reasoning_content",
    "thinking",
];

/// The strings of one content.
pub struct ContentLiterals {
    /// Where the strings stand that a reader may take for text, each with its quotes, ascending.
    pub literals: Vec<Range<usize>>,
    /// The same of those that stand beside the text of their part.
    pub asides: Vec<Range<usize>>,
    /// Something stands where text is expected and is none.
    pub has_unreadable: bool,
}

/// The texts of a content that the scanner accepted: a string, a part, or a list of either.
pub fn content_literals(content: &[u8]) -> ContentLiterals {
    let mut found = ContentLiterals {
        literals: Vec::new(),
        asides: Vec::new(),
        has_unreadable: false,
    };
    let content = View::new(content, 0..content.len());
    of_value(content, Meaning::Text, &mut |piece| match piece {
        Piece::Text(text) => found.literals.push(text.span()),
        Piece::Aside(text) | Piece::Name(text) => found.asides.push(text.span()),
        Piece::Unreadable => found.has_unreadable = true,
    });
    found
}

/// Hands over the texts of a message in the order of the body, until somebody breaks off.
pub(super) fn of_message<'a>(
    message: View<'a>,
    each: &mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if message.kind() == Kind::String {
        return each(Piece::Text(message));
    }
    for member in message.members() {
        let is = |name: &&&str| is_in_any_case(member.key, name);
        let name = OF_MESSAGE.iter().chain(&BESIDE).find(is);
        if let Some(name) = name {
            let mut walk = Walk {
                each,
                depth: 0,
                is_aside: BESIDE.contains(name),
            };
            walk.value(member.value, Meaning::of(name))?;
        } else if is_in_any_case(member.key, "name") && member.value.kind() == Kind::String {
            each(Piece::Name(member.value))?;
        }
    }
    ControlFlow::Continue(())
}

/// Hands over the texts of every member `name` of an object: those of the parts, then what stands beside them.
pub(super) fn each_piece<'a>(object: View<'a>, name: &'a str, each: &mut dyn FnMut(Piece<'a>)) {
    let meaning = match Meaning::of(name) {
        Meaning::Free => Meaning::Free,
        _ => Meaning::Text,
    };
    let mut has_aside = false;
    for value in object.named_in_any_case(name) {
        of_value(value, meaning, &mut |piece| match piece {
            Piece::Aside(_) => has_aside = true,
            piece => each(piece),
        });
    }
    if !has_aside {
        return;
    }
    for value in object.named_in_any_case(name) {
        of_value(value, meaning, &mut |piece| {
            if let Piece::Aside(text) = piece {
                each(Piece::Text(text));
            }
        });
    }
}

fn of_value<'a>(value: View<'a>, meaning: Meaning, each: &mut dyn FnMut(Piece<'a>)) {
    let mut each = |piece| {
        each(piece);
        ControlFlow::Continue(())
    };
    let mut walk = Walk {
        each: &mut each,
        depth: 0,
        is_aside: false,
    };
    // Nobody breaks off.
    let _ = walk.value(value, meaning);
}

struct Walk<'w, 'a> {
    each: &'w mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    depth: usize,
    /// What is read is not the text of its part.
    is_aside: bool,
}

impl<'a> Walk<'_, 'a> {
    fn value(&mut self, value: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        match value.kind() {
            Kind::String if self.is_aside => (self.each)(Piece::Aside(value)),
            Kind::String => (self.each)(Piece::Text(value)),
            Kind::Object | Kind::Array if self.depth == DEEPEST => (self.each)(Piece::Unreadable),
            Kind::Object => self.deeper(|walk| walk.part(value, meaning)),
            Kind::Array => self.deeper(|walk| {
                let mut elements = value.elements();
                elements.try_for_each(|element| walk.value(element, meaning))
            }),
            // Numbers are common among unknown members, and none where text is expected.
            Kind::Number | Kind::True | Kind::False if meaning == Meaning::Text => {
                (self.each)(Piece::Unreadable)
            }
            Kind::Number | Kind::True | Kind::False | Kind::Null => ControlFlow::Continue(()),
        }
    }

    fn deeper(&mut self, walk: impl FnOnce(&mut Self) -> ControlFlow<()>) -> ControlFlow<()> {
        self.depth += 1;
        let ended = walk(self);
        self.depth -= 1;
        ended
    }

    fn part(&mut self, part: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        // Looked up once: a part may have any number of members.
        let (mut textual, main) = (None, main_text(part, meaning));
        for (at, member) in part.members().enumerate() {
            let own = Meaning::in_part(member.key, meaning);
            let is_main = match own {
                Meaning::Text => main == Some(at),
                own => own != Meaning::Unknown,
            };
            let was_aside = self.is_aside;
            self.is_aside |= !is_main;
            match own {
                Meaning::NoText => {}
                Meaning::Source
                    if member.value.kind() == Kind::String
                        && !*textual.get_or_insert_with(|| is_textual(part)) => {}
                Meaning::Source => self.value(member.value, Meaning::Unknown)?,
                meaning => self.value(member.value, meaning)?,
            }
            self.is_aside = was_aside;
        }
        ControlFlow::Continue(())
    }
}

/// Which member of a part most readers take for its text: the last that is called so, in the case that readers
/// agree on if there is one.
fn main_text(part: View<'_>, meaning: Meaning) -> Option<usize> {
    let names = part.members().enumerate();
    let texts = names.filter(|(_, member)| Meaning::in_part(member.key, meaning) == Meaning::Text);
    let rank = |key: &[u8]| match is_in_any_case(key, "text") {
        true => 1 + u8::from(is_exactly(key, "text")),
        false => 0,
    };
    texts
        .max_by_key(|(_, member)| rank(member.key))
        .map(|(at, _)| at)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::json::{scan, unescape};

    /// The texts of a content, and whether a part of it is unreadable.
    fn read(content: &str) -> (Vec<String>, bool) {
        assert!(scan(content.as_bytes()).is_ok(), "{content}");
        let found = content_literals(content.as_bytes());
        let texts = found.literals.into_iter().chain(found.asides);
        let texts = texts.map(|span| unescape(&content.as_bytes()[span]).into_owned());
        (texts.collect(), found.has_unreadable)
    }

    #[test]
    fn a_part_of_any_form_is_read() {
        let table: &[(&str, &[&str])] = &[
            (r#""x""#, &["x"]),
            (r#"null"#, &[]),
            (r#"["x",["y"]]"#, &["x", "y"]),
            (r#"{"text":"x"}"#, &["x"]),
            (r#"[{"type":"text","text":"x"}]"#, &["x"]),
            (r#"[{"type":"input_text","text":"x"}]"#, &["x"]),
            (
                r#"[{"type":"output_text","text":"x","annotations":[{"title":"t"}]}]"#,
                &["x"],
            ),
            (r#"[{"type":"refusal","refusal":"x"}]"#, &["x"]),
            (r#"[{"text":"x"}]"#, &["x"]),
            (r#"[{"t\u0065xt":"x"}]"#, &["x"]),
            (
                r#"[{"type":"text","text":{"value":"x","annotations":["no"]}}]"#,
                &["x"],
            ),
            (
                r#"[{"type":"text","text":["x",{"text":"y"}]}]"#,
                &["x", "y"],
            ),
            (
                r#"[{"type":"thinking","thinking":"x","signature":"no"}]"#,
                &["x"],
            ),
            (
                r#"[{"type":"tool_result","tool_use_id":"no","content":[{"type":"text","text":"x"}]}]"#,
                &["x"],
            ),
            (
                r#"[{"type":"tool_use","id":"no","name":"no","input":{"name":"x","n":[1,"y"]}}]"#,
                &["x", "y"],
            ),
            (
                r#"[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"},"title":"y"}]"#,
                &["x", "y"],
            ),
            (
                r#"[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}}]"#,
                &["x"],
            ),
            (r#"[{"type":"tomorrow","words":{"of":"x"}}]"#, &["x"]),
            (
                r#"[{"type":"image_url","image_url":{"url":"no","text":"no"},"text":"x"}]"#,
                &["x"],
            ),
            (
                r#"[{"TEXT":"x","Text":["y"],"Input":{"id":"z"},"Data":"a"}]"#,
                &["y", "z", "a", "x"],
            ),
            (r#"[{"type":"image","Type":"Text","data":"x"}]"#, &["x"]),
            (
                r#"[{"data":"x"},{"type":"text","data":"y"},{"type":"input_audio","type":"text","data":"z"}]"#,
                &["x", "y", "z"],
            ),
        ];
        for (content, texts) in table {
            let (read, unreadable) = read(content);
            assert!(!unreadable, "{content}");
            assert_eq!(read, *texts, "{content}");
        }
    }

    #[test]
    fn what_stands_beside_a_text_stands_between_no_two_texts() {
        for (beside, read_last) in [
            (r#""x":"z""#, "z"),
            (r#""title":"z""#, "z"),
            (r#""of":{"deep":["z"]}"#, "z"),
            (r#""content":"z""#, "z"),
            (r#""Text":"z""#, "z"),
            (r#""TEXT":{"text":"z"}"#, "z"),
        ] {
            for content in [
                format!(r#"[{{"type":"text","text":"a",{beside}}},{{"text":"b"}}]"#),
                format!(r#"[{{{beside},"type":"text","text":"a"}},"b"]"#),
                format!(r#"["a",{{"type":"image_url",{beside}}},"b"]"#)
                    .replace(r#""content":"#, r#""alt":"#)
                    .replace(r#""Text":"#, r#""alt":"#)
                    .replace(r#""TEXT":"#, r#""alt":"#),
            ] {
                assert_eq!(read(&content).0, ["a", "b", read_last], "{content}");
            }
        }
        let twice = r#"[{"text":"z","text":"a"},{"text":"y","text":"b"}]"#;
        assert_eq!(read(twice).0, ["a", "b", "z", "y"]);
    }

    #[test]
    fn media_and_attributes_are_no_text() {
        for content in [
            r#"[{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"high"}}]"#,
            r#"[{"type":"input_image","image_url":"https://x/y.png","file_id":"f"}]"#,
            r#"[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]"#,
            r#"[{"type":"file","file":{"filename":"a.txt","file_data":"AAAA"}}]"#,
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]"#,
            r#"[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"redacted_thinking","data":"AAAA"}]"#,
            r#"[{"type":"video","video":"https://x","min_pixels":50176,"fps":1.5,"is_live":true}]"#,
            r#"[{"type":"text","cache_control":{"type":"ephemeral"}}]"#,
        ] {
            assert_eq!(read(content), (Vec::new(), false), "{content}");
        }
    }

    #[test]
    fn what_stands_for_text_and_is_none_is_unreadable() {
        let deep = |levels| format!("{}\"x\"{}", "[".repeat(levels), "]".repeat(levels));
        for content in [
            "7",
            "true",
            "[7]",
            r#"[{"type":"text","text":7}]"#,
            r#"[{"type":"text","Text":7}]"#,
            &deep(DEEPEST + 1),
        ] {
            assert_eq!(read(content), (Vec::new(), true), "{content}");
        }
        assert_eq!(read(&deep(DEEPEST)), (vec!["x".to_owned()], false));
        // Many beside each other are not deep.
        let beside = format!(r#"[["x"]{}]"#, r#",[["x"]]"#.repeat(2 * DEEPEST));
        assert_eq!(
            read(&beside),
            (vec!["x".to_owned(); 2 * DEEPEST + 1], false)
        );
    }
}

//! What of a message is text (CONTRACT 42): every string that a model server may read, whatever the part
//! around it calls itself. Images, audio and files are not text (§4.1 rule 3), nor are the attributes of a
//! part.

use super::kind::Kind;
use super::name::{folded, is_in_any_case};
use super::text::unescape;
use super::view::View;
use std::ops::{ControlFlow, Range};

/// Levels of a content that are read. What lies deeper is reported as unreadable.
const DEEPEST: usize = 32;

/// One value of a content.
pub(super) enum Piece<'a> {
    /// A string that a model server may read.
    Text(View<'a>),
    /// Something stands where text is expected and is none: a number, or a value nested too deeply.
    Unreadable,
}

/// The members of a message that hold text, in any case. Clients and servers agree on `content`; the others
/// are what some servers read beside it. Arguments of earlier tool calls are JSON again and not among them.
const OF_MESSAGE: [&str; 7] = [
    "content",
    "text",
    "parts",
    "refusal",
    "reasoning",
    "reasoning_content",
    "thinking",
];

/// What a member of a part is to a reader of text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Text is expected here.
    Text,
    /// Text in a part of text, else the bytes of an image, a sound or a file.
    Source,
    /// Arguments, whose members mean what their caller wants: every string counts.
    Free,
    /// An attribute of the part, or a reference to a file.
    NoText,
    /// Not known; its strings count.
    Unknown,
}

impl Meaning {
    fn of(name: &str) -> Self {
        match &*folded(name) {
            "text" | "content" | "refusal" | "input_text" | "output_text" => Self::Text,
            "data" | "source" => Self::Source,
            "input" | "arguments" | "parameters" => Self::Free,
            "image_url" | "image" | "input_audio" | "audio" | "audio_url" | "video"
            | "video_url" | "file" | "file_data" | "file_url" | "file_id" | "url" => Self::NoText,
            "type" | "id" | "index" | "name" | "role" | "status" | "detail" | "format"
            | "media_type" | "mime_type" | "mediatype" | "mimetype" | "call_id"
            | "tool_call_id" | "tool_use_id" | "cache_control" | "annotations" | "logprobs"
            | "citations" | "signature" | "encrypted_content" => Self::NoText,
            _ => Self::Unknown,
        }
    }
}

/// The strings of one content.
pub struct ContentLiterals {
    /// Where the strings stand that a reader may take for text, each with its quotes, ascending.
    pub literals: Vec<Range<usize>>,
    /// Something stands where text is expected and is none.
    pub has_unreadable: bool,
}

/// The texts of a content that the scanner accepted: a string, a part, or a list of either.
pub fn content_literals(content: &[u8]) -> ContentLiterals {
    let mut found = ContentLiterals {
        literals: Vec::new(),
        has_unreadable: false,
    };
    let content = View::new(content, 0..content.len());
    of_value(content, Meaning::Text, &mut |piece| match piece {
        Piece::Text(text) => found.literals.push(text.span()),
        Piece::Unreadable => found.has_unreadable = true,
    });
    found
}

/// Hands over the texts of a message in the order of the body, until somebody breaks off.
pub(super) fn of_message<'a>(
    message: View<'a>,
    each: &mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for member in message.members() {
        let name = OF_MESSAGE
            .iter()
            .find(|name| is_in_any_case(member.key, name));
        if let Some(name) = name {
            Walk { each, depth: 0 }.value(member.value, Meaning::of(name))?;
        }
    }
    ControlFlow::Continue(())
}

/// Hands over the texts of every member `name` of an object.
pub(super) fn each_piece<'a>(object: View<'a>, name: &'a str, each: &mut dyn FnMut(Piece<'a>)) {
    let meaning = match Meaning::of(name) {
        Meaning::Free => Meaning::Free,
        _ => Meaning::Text,
    };
    for value in object.named_in_any_case(name) {
        of_value(value, meaning, each);
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
    };
    // Nobody breaks off.
    let _ = walk.value(value, meaning);
}

struct Walk<'w, 'a> {
    each: &'w mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    depth: usize,
}

impl<'a> Walk<'_, 'a> {
    fn value(&mut self, value: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        match value.kind() {
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
        let mut textual = None;
        for member in part.members() {
            let own = match meaning {
                Meaning::Free => Meaning::Free,
                _ => Meaning::of(&unescape(member.key)),
            };
            match own {
                Meaning::NoText => {}
                Meaning::Source
                    if member.value.kind() == Kind::String
                        && !*textual.get_or_insert_with(|| is_textual(part)) => {}
                Meaning::Source => self.value(member.value, Meaning::Unknown)?,
                meaning => self.value(member.value, meaning)?,
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether a part is one of text, or does not say what it is.
fn is_textual(part: View<'_>) -> bool {
    let mut types = part.named_in_any_case("type").peekable();
    let says_nothing = types.peek().is_none();
    says_nothing
        || types.any(|kind| {
            kind.text()
                .is_none_or(|kind| folded(&kind).contains("text"))
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::json::scan;

    /// The texts of a content, and whether a part of it is unreadable.
    fn read(content: &str) -> (Vec<String>, bool) {
        assert!(scan(content.as_bytes()).is_ok(), "{content}");
        let found = content_literals(content.as_bytes());
        let texts = found.literals.into_iter();
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
                &["x", "y", "z", "a"],
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

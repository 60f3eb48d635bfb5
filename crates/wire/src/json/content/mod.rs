//! What of a message is text (CONTRACT 42): every string that a model server may read, whatever the part
//! around it calls itself. Images, audio and files are not text (§4.1 rule 3), nor are the attributes of a
//! part.

mod alone;
mod block_types;
mod blocks;
mod meaning;
mod other_text;
mod text_path;
mod walk;

pub use alone::AloneLiteral;
pub(super) use blocks::{MessagePart, Words, has_results, is_signed};
pub(crate) use other_text::{CallText, OtherText, Place, TopMember, other_texts};
pub(crate) use other_text::{OtherTexts, texts_beside, texts_of};
pub use text_path::TextPath;

use super::form::Form;
use super::kind::Kind;
use super::name::{folded, is_in_any_case};
use super::scan::notes_of;
use super::text::unescape;
use super::view::{NamedView, View};
use alone::Alone;
use meaning::{Meaning, is_attribute};
use std::ops::{ControlFlow, Range};
use walk::{Standing, Walk};

/// One value of a content.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'a> {
    /// A string that a model server may read.
    Text(View<'a>),
    /// One that it may read, of a member that is not the text of its part or message: behind the texts it
    /// stands between none of them.
    Aside(View<'a>),
    /// The same of a member of the message that nobody knows: a server that reads it is not known either.
    Unknown(View<'a>),
    /// What is read alone.
    Alone(Alone<'a>),
    /// Something stands where text is expected and is none: a number, or a value nested too deeply.
    Unreadable,
}

impl<'a> Piece<'a> {
    /// The value as it is read alone; None of what is no text.
    pub(crate) fn value(self) -> Option<Alone<'a>> {
        match self {
            Self::Text(text) | Self::Aside(text) | Self::Unknown(text) => {
                Some(Alone::of(text, Form::Text))
            }
            Self::Alone(alone) => Some(alone),
            Self::Unreadable => None,
        }
    }
}

/// The members of a message that hold its text, in any case. Clients and servers agree on `content`.
const OF_MESSAGE: [&str; 2] = ["content", "parts"];
/// What some servers read beside it.
const BESIDE: [&str; 5] = [
    "text",
    "refusal",
    "reasoning",
    "reasoning_content",
    "thinking",
];

/// The most letters of a role that is a word.
const LONGEST_ROLE: usize = 20;

/// The strings of one content.
pub struct ContentLiterals {
    /// Where the strings stand that a reader may take for text, each with its quotes, ascending.
    pub literals: Vec<Range<usize>>,
    /// The same of those that stand beside the text of their part.
    pub asides: Vec<Range<usize>>,
    /// Names and numbers of objects that are arguments, each of which is read alone.
    pub alone: Vec<AloneLiteral>,
    /// Something stands where text is expected and is none.
    pub has_unreadable: bool,
}

/// The texts of a content that the scanner accepted: a string, a part, or a list of either.
pub fn content_literals(content: &[u8]) -> ContentLiterals {
    let mut found = ContentLiterals {
        literals: Vec::new(),
        asides: Vec::new(),
        alone: Vec::new(),
        has_unreadable: false,
    };
    let notes = notes_of(content);
    let content = View::of_scanned(content, 0..content.len(), &notes);
    of_value(content, Meaning::Text, &mut |piece| match piece {
        Piece::Text(text) => found.literals.push(text.span()),
        Piece::Aside(text) | Piece::Unknown(text) => found.asides.push(text.span()),
        Piece::Alone(alone) => found.alone.push(alone.literal()),
        Piece::Unreadable => found.has_unreadable = true,
    });
    found
}

/// Hands over the texts of a message in the order of the body, until somebody breaks off.
pub(super) fn of_message<'a>(
    words: Words<'a>,
    each: &mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Words {
        message,
        part,
        calls,
    } = words;
    if message.kind() == Kind::String {
        return each(Piece::Text(message));
    }
    let is_unread = !calls.have_arguments() && block_types::is_call(message);
    for member in message.members() {
        let is = |name: &&&str| is_in_any_case(member.key, name);
        if let Some(name) = OF_MESSAGE.iter().find(is) {
            words.of_content(member.value, Meaning::of(name), each)?;
            continue;
        }
        if part == MessagePart::Results {
            continue;
        }
        if let Some(name) = BESIDE.iter().find(is) {
            Walk::new(Standing::Aside, each).value(member.value, Meaning::of(name))?;
        } else if is_in_any_case(member.key, "role") {
            of_role(member.value, each)?;
        } else if !(is_unread && is_argument(&member)) {
            let mut walk = Walk::new(Standing::Unknown, each).with_calls(calls);
            of_other_member(&member, &mut walk)?;
        }
    }
    ControlFlow::Continue(())
}

/// A role that is no short word of letters is text, read alone: templates of model servers print it.
fn of_role<'a>(
    role: View<'a>,
    each: &mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match (role.text(), role.kind()) {
        (None, Kind::Null) => ControlFlow::Continue(()),
        (Some(role), _) if is_word(&role) => ControlFlow::Continue(()),
        (Some(_), _) => each(Piece::Alone(Alone::of(role, Form::Name))),
        (None, _) => each(Piece::Unreadable),
    }
}

fn is_word(role: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    role.len() <= LONGEST_ROLE && role.bytes().all(is_letter)
}

/// The texts of a member of a message that holds none of its words: the name of who speaks, calls of tools, and unknown
/// members of any kind.
fn of_other_member<'a>(member: &NamedView<'a>, walk: &mut Walk<'_, 'a>) -> ControlFlow<()> {
    let name = unescape(member.key);
    match (&*folded(&name), Meaning::of(&name)) {
        ("name", _) => walk.name(member.value),
        ("tool_calls" | "function_call", _) => walk.call(member.value),
        // Of servers that take them beside the text.
        ("images" | "videos" | "audios", _) => ControlFlow::Continue(()),
        (_, Meaning::NoText) => ControlFlow::Continue(()),
        (lower, _) if is_attribute(lower) => ControlFlow::Continue(()),
        (_, Meaning::Free) => walk.arguments(member.value),
        _ => walk.value(member.value, Meaning::Unknown),
    }
}

/// Whether a member of an item that is a call has its arguments.
fn is_argument(member: &NamedView<'_>) -> bool {
    let mut names = ["code", "action", "operation", "queries"].into_iter();
    Meaning::of_member(member.key) == Meaning::Free
        || names.any(|name| is_in_any_case(member.key, name))
}

/// Whether a message says anything in the members that servers read.
pub(super) fn speaks(words: Words<'_>) -> bool {
    let says = of_message(words, &mut |piece| match piece {
        Piece::Text(text) | Piece::Aside(text) if !text.is_blank() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    says.is_break()
}

/// Hands over the texts of every member `name` of an object: those of the parts, then what stands beside them, then
/// what is read alone.
pub(super) fn each_piece<'a>(object: View<'a>, name: &'a str, each: &mut dyn FnMut(Piece<'a>)) {
    in_turns(|each| each_in_order(object, name, each), each);
}

/// The same of one value.
pub(crate) fn each_piece_of<'a>(value: View<'a>, each: &mut dyn FnMut(Piece<'a>)) {
    in_turns(|each| of_value(value, Meaning::Text, each), each);
}

fn in_turns<'a>(in_order: impl Fn(&mut dyn FnMut(Piece<'a>)), each: &mut dyn FnMut(Piece<'a>)) {
    let (mut has_aside, mut has_alone) = (false, false);
    in_order(&mut |piece| match piece {
        Piece::Aside(_) | Piece::Unknown(_) => has_aside = true,
        Piece::Alone(..) => has_alone = true,
        piece => each(piece),
    });
    if has_aside {
        in_order(&mut |piece| {
            if let Piece::Aside(text) | Piece::Unknown(text) = piece {
                each(Piece::Text(text));
            }
        });
    }
    if has_alone {
        in_order(&mut |piece| {
            if let Piece::Alone(..) = piece {
                each(piece);
            }
        });
    }
}

/// The same as it stands in the body.
pub(super) fn each_in_order<'a>(object: View<'a>, name: &'a str, each: &mut dyn FnMut(Piece<'a>)) {
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
    // Nobody breaks off.
    let _ = Walk::new(Standing::Main, &mut each).value(value, meaning);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::meaning::DEEPEST;
    use super::*;
    use crate::json::scan;

    /// The texts of a content, and whether a part of it is unreadable.
    fn read(content: &str) -> (Vec<String>, bool) {
        assert!(scan(content.as_bytes()).is_ok(), "{content}");
        let found = content_literals(content.as_bytes());
        let texts = found.literals.into_iter().chain(found.asides);
        let texts = texts.map(|span| Form::Text.text(&content.as_bytes()[span]).into_owned());
        let alone = found.alone.iter();
        let texts = texts.chain(alone.map(|one| one.text(content.as_bytes()).into_owned()));
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
                r#"[{"type":"tool_use","id":"no","name":"f","input":{"name":"x","n":[1,"y",4.1000000e8,{"":"z"}]}}]"#,
                &["x", "y", "z", "f", "name", "n", "n: 410000000"],
            ),
            (
                r#"[{"type":"search_result","source":"x","title":"y","content":[{"type":"text","text":"z"}]}]"#,
                &["x", "z", "y"],
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
                &["y", "z", "a", "x", "id"],
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

//! The borrowed view of a chat completion body: what the gateway has to know of it (CONTRACT 2, 3
//! and 5). It judges nothing: members of an odd type are skipped, the upstream complains.

use super::content::Piece;
use super::kind::Kind;
use super::messages::ScanRole;
use super::prompt::{self, Prompt, PromptLiteral};
use super::scan::{Member, Scan};
use super::text::{Joined, keep_break};
use super::view::View;
use std::ops::Range;

/// A chat completion body and its scan.
#[derive(Clone, Copy)]
pub struct Chat<'a> {
    body: &'a [u8],
    scan: &'a Scan,
}

impl<'a> Chat<'a> {
    /// `scan` is the scan of `body`; a body that is no object has no members.
    pub fn read(body: &'a [u8], scan: &'a Scan) -> Self {
        Self { body, scan }
    }

    /// The value spans of every top-level `stream`, in any case, whose value is the literal `true`,
    /// ascending: what the sync rewrite replaces (CONTRACT 2).
    pub fn stream_true_spans(&self) -> Vec<Range<usize>> {
        let streams = self.members("stream");
        streams
            .filter(|member| member.kind == Kind::True)
            .map(|member| member.value)
            .collect()
    }

    /// Whether some model server may take the call for one that asks for a stream: some take a number or a
    /// word for `true` as well.
    pub fn may_stream(&self) -> bool {
        let mut streams = self.members("stream");
        streams.any(|member| !matches!(member.kind, Kind::False | Kind::Null))
    }

    /// Whether a streamed answer is asked for. Of several `stream` the last one counts, as it does
    /// for most readers of JSON.
    pub fn wants_stream(&self) -> bool {
        self.members("stream")
            .last()
            .is_some_and(|member| member.kind == Kind::True)
    }

    /// Whether a stream is to end with its usage (`stream_options.include_usage`); the last duplicates count.
    pub fn wants_usage(&self) -> bool {
        let options = self.views("stream_options").last();
        let wanted = options.and_then(|options| options.named("include_usage").last());
        wanted.is_some_and(|wanted| wanted.kind() == Kind::True)
    }

    /// The value spans of every top-level `stream_options`, in any case, that is not null, ascending.
    pub fn stream_options_spans(&self) -> Vec<Range<usize>> {
        let options = self.members("stream_options");
        options
            .filter(|member| member.kind != Kind::Null)
            .map(|member| member.value)
            .collect()
    }

    /// The requested model; None when it is missing or no string. The last duplicate counts.
    pub fn model(&self) -> Option<String> {
        let model = self.views("model").last()?;
        model.text().map(|text| text.into_owned())
    }

    /// A top-level number, such as `temperature`; None when it is missing or none. The last duplicate counts.
    pub fn number(&self, name: &'a str) -> Option<f64> {
        let member = self.scan.members_named(self.body, name).last()?;
        let digits = self.body.get(member.value)?;
        let is_number = member.kind == Kind::Number;
        let number: f64 = std::str::from_utf8(digits)
            .ok()
            .filter(|_| is_number)?
            .parse()
            .ok()?;
        number.is_finite().then_some(number)
    }

    /// How many choices are asked for (`n`): one without the member, and where it is no number.
    pub fn choices(&self) -> u64 {
        self.number("n").map_or(1, |n| n as u64).max(1)
    }

    /// `metadata.request_id` when it is a string (§2.4). The last duplicates count.
    pub fn request_id(&self) -> Option<String> {
        let metadata = self.views("metadata").last()?;
        let id = metadata.named("request_id").last()?;
        id.text().map(|text| text.into_owned())
    }

    /// The text to record and to check: that of the messages which `roles` name, in their order,
    /// joined by line feeds. With [`ScanRole::UserTurn`] those of the user come last. Without roles it is that of
    /// the last user message with text ([`ScanRole::LastUser`]).
    ///
    /// What two readers of JSON could understand differently is taken both ways: names in any case, every
    /// duplicate inside a message, and a message of two roles or of an unknown one beside the one that
    /// would be chosen without it. Of several top-level `messages` every message is taken: a reader may
    /// take one list or another, or merge their messages one by one.
    pub fn prompt(&self, roles: &[ScanRole]) -> Prompt {
        let (mut text, mut prompt) = (Joined::default(), Prompt::default());
        self.each_piece(roles, |piece, is_first| match piece.value() {
            None => prompt.has_unreadable = true,
            Some(value) => {
                let place = text.push(value.text());
                if let Some(place) = place.filter(|_| !is_first) {
                    let is_kept = keep_break(&mut prompt.part_breaks, place);
                    prompt.has_unreadable |= !is_kept;
                }
            }
        });
        prompt.text = text.into_text();
        prompt
    }

    /// The values whose texts [`Chat::prompt`] takes, in its order.
    pub fn prompt_literals(&self, roles: &[ScanRole]) -> Vec<PromptLiteral> {
        let mut literals = Vec::new();
        self.each_piece(roles, |piece, is_first| {
            if let Some(read) = piece.value() {
                literals.push(PromptLiteral {
                    span: read.value.span(),
                    is_first,
                    form: read.form,
                    name: read.name(),
                });
            }
        });
        literals
    }

    fn each_piece(&self, roles: &[ScanRole], each: impl FnMut(Piece<'a>, bool)) {
        prompt::each_piece(|| self.views("messages"), roles, each);
    }

    fn members(&self, name: &'a str) -> impl Iterator<Item = Member> + 'a {
        self.scan.members_in_any_case(self.body, name)
    }

    fn views(&self, name: &'a str) -> impl Iterator<Item = View<'a>> + 'a {
        let Self { body, scan } = *self;
        self.members(name)
            .map(move |member| scan.view(body, member.value))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::{Chat, ScanRole};
    use crate::json::scan;

    fn prompt(body: &str, roles: &[ScanRole]) -> String {
        let found = scan(body.as_bytes()).unwrap();
        Chat::read(body.as_bytes(), &found).prompt(roles).text
    }

    const PROMPTS: &[(&str, &str)] = &[
        (
            r#"{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"},{"role":"tool","content":"four"}]}"#,
            "three",
        ),
        (
            r#"{"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"last"}]}"#,
            "last",
        ),
        (r#"{"messages":[{"content":"no role"}]}"#, "no role"),
        (
            r#"{"messages":[{"role":"us\u0065r","content":"\u043f\ud83d\ude00\ud800"}]}"#,
            "п😀\u{fffd}",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"text":"b","type":"text"}]}]}"#,
            "a\nb",
        ),
        (r#"{"messages":[{"role":"user","content":null}]}"#, ""),
        (r#"{"messages":[]}"#, ""),
        (
            r#"{"messages":[1,"y",null,[{"role":"user","content":"deep"}],{"role":"user","content":{"text":"x"}}]}"#,
            "x",
        ),
        (
            r#"{"messages":[{"role":"user","content":[1,"x",["y"],{"type":"text","text":5},{"type":"text","text":"ok"}]}, 17]}"#,
            "x\ny\nok",
        ),
        (r#"{"messages":{"role":"user","content":"x"}}"#, ""),
        (
            r#"{"prompt":"x","inner":{"messages":[{"role":"user","content":"x"}]}}"#,
            "",
        ),
        (r#"[{"messages":[{"role":"user","content":"x"}]}]"#, ""),
        ("7", ""),
    ];

    #[test]
    fn the_last_user_message_is_the_recorded_prompt() {
        for (body, expected) in PROMPTS {
            assert_eq!(prompt(body, &[]), *expected, "{body}");
            assert_eq!(prompt(body, &[ScanRole::LastUser]), *expected, "{body}");
        }
    }

    #[test]
    fn duplicates_hide_nothing() {
        let table: &[(&str, &str)] = &[
            (
                r#"{"messages":[{"role":"user","content":"a"}],"m\u0065ssages":[{"role":"user","content":"b"}]}"#,
                "a\nb",
            ),
            (
                r#"{"messages":[{"role":"user","content":"a","content":"b"}]}"#,
                "a\nb",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"image","type":"text","text":"a","text":"b"}]}]}"#,
                "b\na",
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"user","role":"assistant","content":"b"}]}"#,
                "a\nb",
            ),
            (
                r#"{"messages":[{"role":"assistant","role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
                "a\nb",
            ),
            (
                r#"{"messages":[{"role":"assistant","role":"user","content":"a"}]}"#,
                "a",
            ),
            (
                r#"{"messages":[{"role":"user","role":"tool","content":"a"},{"role":"user","role":"user","content":"b"}]}"#,
                "b",
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"}],"messages":null}"#,
                "a",
            ),
            (
                r#"{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}],"Messages":[{"role":"user"}]}"#,
                "a\nb",
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"system","content":"b"},{"role":"user","content":"c"}]}"#,
                "a\nb\nc",
            ),
        ];
        for (body, expected) in table {
            assert_eq!(prompt(body, &[]), *expected, "{body}");
        }
    }

    #[test]
    fn names_in_another_case_hide_nothing() {
        let table: &[(&str, &str)] = &[
            (r#"{"Messages":[{"Role":"user","Content":"a"}]}"#, "a"),
            (
                r#"{"messages":[{"role":"user","content":"a","CONTENT":"b"}]}"#,
                "a\nb",
            ),
            (
                r#"{"messages":[{"role":"user","Content":"a","content":""},{"role":"assistant","content":"b"}]}"#,
                "a\n",
            ),
            (
                r#"{"messages":[{"role":"assistant","Role":"user","content":"a"}]}"#,
                "a",
            ),
            (
                r#"{"me\u017f\u017fages":[{"role":"user","content":[{"Type":"text","TEXT":"a"}]}]}"#,
                "a",
            ),
        ];
        for (body, expected) in table {
            assert_eq!(prompt(body, &[]), *expected, "{body}");
        }
    }

    #[test]
    fn scan_roles_widen_the_prompt_in_the_order_of_the_body() {
        use ScanRole::{AllUser, Assistant, LastUser, System, Tool};
        let body = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u1"},
            {"role":"assistant","content":"a"},{"role":"tool","content":"t"},
            {"role":"developer","content":"d"},{"role":"user","content":"u2"},{"role":"function","content":"f"}]}"#;
        let table: &[(&[ScanRole], &str)] = &[
            (&[LastUser], "u2"),
            (&[AllUser], "u1\nu2"),
            (&[AllUser, LastUser], "u1\nu2"),
            (&[System], "s\nd"),
            (&[Tool, LastUser], "t\nu2\nf"),
            (&[Assistant, System, LastUser], "s\na\nd\nu2"),
        ];
        for (roles, expected) in table {
            assert_eq!(prompt(body, roles), *expected, "{roles:?}");
        }
        let no_user =
            r#"{"messages":[{"role":"system","content":"s"},{"role":"tool","content":"t"}]}"#;
        assert_eq!(prompt(no_user, &[System, LastUser]), "s\nt");
        assert_eq!(prompt(no_user, &[Tool, LastUser]), "t");
        assert_eq!(prompt(no_user, &[AllUser]), "");
    }

    #[test]
    fn the_last_top_level_stream_decides() {
        let table: &[(&str, bool, usize)] = &[
            (r#"{"stream":true}"#, true, 1),
            (r#"{"stream":false,"stre\u0061m":true}"#, true, 1),
            (r#"{"stream":true,"stream":false}"#, false, 1),
            (r#"{"stream":true,"stream":true}"#, true, 2),
            (r#"{"stream":"true"}"#, false, 0),
            (r#"{"Stream":true}"#, true, 1),
            (r#"{"stream":false,"STREAM":true}"#, true, 1),
            (r#"{"\u017ftream":true,"stream":false}"#, false, 1),
            (r#"{"options":{"stream":true}}"#, false, 0),
            (r#"[true]"#, false, 0),
        ];
        for (body, wants, spans) in table {
            let found = scan(body.as_bytes()).unwrap();
            let chat = Chat::read(body.as_bytes(), &found);
            assert_eq!(
                (chat.wants_stream(), chat.stream_true_spans().len()),
                (*wants, *spans),
                "{body}"
            );
        }
    }

    #[test]
    fn what_some_server_takes_for_true_may_stream() {
        for (body, may) in [
            (r#"{"stream":true,"stream":false}"#, true),
            (r#"{"Stream":1}"#, true),
            (r#"{"stream":"yes"}"#, true),
            (r#"{"stream":false,"STREAM":null}"#, false),
            ("{}", false),
        ] {
            let found = scan(body.as_bytes()).unwrap();
            let chat = Chat::read(body.as_bytes(), &found);
            assert_eq!(chat.may_stream(), may, "{body}");
        }
    }

    #[test]
    fn usage_is_asked_for_in_the_options_of_a_stream() {
        for (body, wants, options) in [
            (r#"{"stream_options":{"include_usage":true}}"#, true, 1),
            (r#"{"stream_options":{"include_usage":1}}"#, false, 1),
            (r#"{"Stream_options":{},"stream_options":null}"#, false, 1),
            (r#"{"include_usage":true}"#, false, 0),
        ] {
            let found = scan(body.as_bytes()).unwrap();
            let chat = Chat::read(body.as_bytes(), &found);
            let spans = chat.stream_options_spans().len();
            assert_eq!((chat.wants_usage(), spans), (wants, options), "{body}");
        }
    }

    #[test]
    fn model_and_request_id_are_strings_or_absent() {
        let table: &[(&str, Option<&str>, Option<&str>)] = &[
            (
                r#"{"model":"a","model":"b","metadata":{"request_id":"r"}}"#,
                Some("b"),
                Some("r"),
            ),
            (
                r#"{"model":"a","model":7,"metadata":{"request_id":7}}"#,
                None,
                None,
            ),
            (r#"{"model":"\u0061\"","metadata":"r"}"#, Some("a\""), None),
            (
                r#"{"metadata":{"request_id":"a"},"metadata":{"request_id":"b","request\u005fid":"c"}}"#,
                None,
                Some("c"),
            ),
            (
                r#"{"metadata":{"x":{"request_id":"a"}},"request_id":"b"}"#,
                None,
                None,
            ),
            (r#""model""#, None, None),
        ];
        for (body, model, id) in table {
            let found = scan(body.as_bytes()).unwrap();
            let chat = Chat::read(body.as_bytes(), &found);
            assert_eq!(
                (chat.model().as_deref(), chat.request_id().as_deref()),
                (*model, *id),
                "{body}"
            );
        }
    }
}

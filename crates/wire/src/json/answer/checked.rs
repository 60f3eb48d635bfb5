//! The text of a whole answer for its check (CONTRACT 15, in the spirit of 42): what a record keeps of it
//! (CONTRACT 4), and behind that every other string that the client gets. `sse::Accumulator` does the same for streams.

use super::completion::ChoiceForm;
use super::{Answer, AnswerTexts, JoinedText};
use crate::json::call_texts::CallTexts;
use crate::json::content::{OtherText, OtherTexts, texts_beside, texts_of};
use crate::json::kind::Kind;
use crate::json::scan::scan;
use crate::json::text::Joined;
use crate::json::view::View;
use std::borrow::Cow;

/// Reads every text of an answer, of a `chat.completion` body and of any other shape. None when it is not JSON. An answer
/// in which no text is found, and no message that may be without one, has something unreadable.
pub fn checked_answer(body: &[u8]) -> Option<Answer> {
    checked_answer_of(body, CallTexts::Whole)
}

/// The same with these texts of its calls of tools.
pub fn checked_answer_of(body: &[u8], calls: CallTexts) -> Option<Answer> {
    checked(body, ChoiceForm::Message, calls)
}

/// The same of an answer that should be a `text_completion` body.
pub fn checked_completion(body: &[u8]) -> Option<Answer> {
    checked(body, ChoiceForm::Text, CallTexts::Whole)
}

fn checked(body: &[u8], form: ChoiceForm, calls: CallTexts) -> Option<Answer> {
    let scan = scan(body).ok()?;
    let mut reader = Reader {
        body,
        form,
        calls,
        main: AnswerTexts::default(),
        beside: AnswerTexts::default(),
        has_message: false,
    };
    reader.root(scan.root(body));
    Some(reader.finish().into_answer(body, &scan))
}

struct Reader<'a> {
    body: &'a [u8],
    form: ChoiceForm,
    calls: CallTexts,
    /// What a record keeps.
    main: AnswerTexts,
    /// What stands behind it.
    beside: AnswerTexts,
    /// There is a message, with or without text.
    has_message: bool,
}

impl Reader<'_> {
    fn root(&mut self, root: View<'_>) {
        if root.kind() != Kind::Object {
            return self.other_members(texts_of("", root));
        }
        for choices in root.named_in_any_case("choices") {
            match choices.kind() {
                Kind::Array => choices.elements().for_each(|choice| match self.form {
                    ChoiceForm::Message => self.choice(choice),
                    ChoiceForm::Text => self.text_choice(choice),
                }),
                _ => self.other_members(texts_of("choices", choices)),
            }
        }
        self.other_members(texts_beside(root, &["choices"]));
    }

    fn choice(&mut self, choice: View<'_>) {
        if choice.kind() != Kind::Object {
            return self.other_members(texts_of("choices", choice));
        }
        self.has_message |= choice.named_in_any_case("text").any(is_text);
        let said = [
            JoinedText::of_member(choice, "content"),
            JoinedText::of_member(choice, "refusal"),
            self.calls(choice),
        ];
        let mut said = said.into_iter();
        // The first of them is what a record keeps; those before it are empty.
        for words in said.by_ref() {
            let is_main = !words.text.is_empty();
            self.main.push(words);
            if is_main {
                break;
            }
        }
        said.for_each(|words| self.beside.push(words));
        for message in choice.named_in_any_case("message") {
            match message.kind() {
                Kind::Object => {
                    self.has_message = true;
                    self.other_members(texts_beside(
                        message,
                        &["content", "refusal", "tool_calls", "function_call"],
                    ));
                }
                _ => self.other_members(texts_of("message", message)),
            }
        }
        self.other_members(texts_beside(choice, &["message"]));
    }

    fn text_choice(&mut self, choice: View<'_>) {
        if choice.kind() != Kind::Object {
            return self.other_members(texts_of("choices", choice));
        }
        self.has_message |= choice.named_in_any_case("text").any(is_text);
        self.main.push(JoinedText::of_value(choice, "text"));
        self.other_members(texts_beside(choice, &["text"]));
    }

    /// Adds texts: those of one member are read as one, and behind them what stands alone.
    fn other_members(&mut self, texts: OtherTexts) {
        let (mut last, mut words) = (None, JoinedText::default());
        let mut alone = Joined::default();
        for other in self.read(&texts) {
            if other.stands_alone() {
                alone.push(self.text(other));
                continue;
            }
            if last != Some(other.member) {
                self.beside.push(std::mem::take(&mut words));
                last = Some(other.member);
            }
            words.extend(&self.text(other));
        }
        words.has_unreadable |= texts.has_unreadable;
        self.beside.push(words);
        self.beside.push(JoinedText::of(alone.into_text()));
    }

    /// The texts of the calls of a choice, each of which stands alone.
    fn calls(&self, choice: View<'_>) -> JoinedText {
        let (mut text, mut has_unreadable) = (Joined::default(), false);
        for message in choice.named_in_any_case("message") {
            for name in ["tool_calls", "function_call"] {
                for calls in message.named_in_any_case(name) {
                    let texts = texts_of(name, calls);
                    has_unreadable |= texts.has_unreadable;
                    self.read(&texts).for_each(|other| {
                        text.push(self.text(other));
                    });
                }
            }
        }
        JoinedText {
            has_unreadable,
            ..JoinedText::of(text.into_text())
        }
    }

    /// Those that are read.
    fn read<'t>(&self, texts: &'t OtherTexts) -> impl Iterator<Item = &'t OtherText> + use<'t> {
        let has_arguments = self.calls.have_arguments();
        let found = texts.found.iter();
        found.filter(move |other| has_arguments || !other.in_arguments)
    }

    fn text(&self, other: &OtherText) -> Cow<'_, str> {
        other.text(self.body)
    }

    fn finish(mut self) -> AnswerTexts {
        self.main.push(self.beside.into_joined());
        if !self.has_message {
            self.main.require_text();
        }
        self.main
    }
}

fn is_text(value: View<'_>) -> bool {
    value.kind() == Kind::String
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::checked_answer;
    use crate::json::answer_text;

    const ANSWERS: &[(&str, &str)] = &[
        (
            r#" {"id":"no","object":"no","created":1,"model":"no","system_fingerprint":"no","service_tier":"no","usage":{"x":"no"},
            "choices":[{"index":0,"message":{"role":"no","content":"a"},"logprobs":{"content":[{"token":"no"}]},"finish_reason":"no"}]}"#,
            "a",
        ),
        (
            r#"{"choices":[{"message":{"refusal":"b","content":"a","reasoning_content":"c","thinking":"d"}},{"message":{"content":"e"}}]}"#,
            "a\ne\nb\nc\nd",
        ),
        (
            r#"{"choices":[{"message":{"content":" ","tool_calls":[{"id":"no","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            " \nf\n{}",
        ),
        (
            r#"{"choices":[{"message":{"content":null,"tool_calls":[{"type":"custom","custom":{"name":"f","input":"a"}}],"function_call":{"name":"g","arguments":"b"}}}]}"#,
            "f\na\ng\nb",
        ),
        (
            r#"{"choices":[{"message":{"reasoning":"c","function_call":{"name":"g","arguments":"b"},"tool_calls":[{"function":{"name":"f","arguments":"a"}}]}},{"message":{"content":"d"}}]}"#,
            "f\na\ng\nb\nd\nc",
        ),
        (
            r#"{"choices":[{"message":{"content":null,"audio":{"id":"no","data":"no","transcript":"a"},"annotations":[{"title":"no"}]}}]}"#,
            "a",
        ),
        (
            r#"{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":"{\"n\":\"\\u0034\\/1\"}"}},{"custom":{"input":"\\u0034"}},{"function":{"arguments":{"x":"\\n"}}}],"function_call":{"arguments":"[\"\\u0035\"]"}}}]}"#,
            "a\nf\n{\"n\":\"4/1\"}\n\\u0034\n4\nx\n\\n\n[\"5\"]",
        ),
        (r#"{"choices":[{"index":0,"text":"a"}]}"#, "a"),
        (
            r#"{"CHOICES":[{"MESSAGE":{"CONTENT":"a","Content":"b","Reasoning":"c"}}],"choices":[{"message":"d"},"e"]}"#,
            "a\nb\nc\nd\ne",
        ),
        (
            r#"{"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}"#,
            "a",
        ),
        (
            r#"{"model":"m","message":{"role":"no","content":"a"}}"#,
            "a",
        ),
        (r#"{"choices":"a"}"#, "a"),
        (r#" "a" "#, "a"),
        (r#"["a"]"#, "a"),
    ];

    #[test]
    fn every_text_stands_behind_what_a_record_keeps() {
        for (body, text) in ANSWERS {
            let answer = checked_answer(body.as_bytes()).unwrap();
            assert!(answer.text == *text, "{body}: {:?}", answer.text);
            assert!(!answer.has_unreadable, "{body}");
            let kept = answer_text(body.as_bytes()).unwrap().text;
            assert!(text.starts_with(&kept), "{body}");
        }
    }

    #[test]
    fn the_texts_of_one_member_are_read_as_one() {
        let body = r#"{"choices":[{"message":{"content":["ж","a"],"reasoning_details":[{"text":"b"},{"text":"c"}],"thinking":"d"}}]}"#;
        let answer = checked_answer(body.as_bytes()).unwrap();
        assert!(answer.text == "ж\na\nb\nc\nd");
        assert_eq!(answer.part_breaks, [2, 6]);
    }

    #[test]
    fn a_shape_without_text_or_message_is_unreadable() {
        let deep = format!(
            r#"{{"choices":[{{"message":{{"content":"a","x":{}"b"{}}}}}]}}"#,
            "[".repeat(40),
            "]".repeat(40)
        );
        for (body, has_unreadable) in [
            (r#"{"choices":[{"message":{"content":""}}]}"#, false),
            (
                r#"{"choices":[{"message":{"content":null,"tool_calls":null}}]}"#,
                false,
            ),
            (r#"{"choices":[{"text":""}]}"#, false),
            (r#"{"choices":[{"message":{"content":7}}]}"#, true),
            (&deep, true),
            (r#"{"choices":[]}"#, true),
            (r#"{"choices":[{"message":null}]}"#, true),
            (r#"{"id":"no","x":7}"#, true),
            ("{}", true),
            ("7", true),
            (r#""""#, true),
        ] {
            let answer = checked_answer(body.as_bytes()).unwrap();
            assert_eq!(answer.has_unreadable, has_unreadable, "{body}");
        }
        assert!(checked_answer(b"<html>").is_none());
    }

    #[test]
    fn model_and_usage_are_those_of_the_record() {
        let body = br#"  {"usage": {"x":1} ,"model":"m-1","choices":[]}"#;
        let (checked, kept) = (checked_answer(body).unwrap(), answer_text(body).unwrap());
        assert!(checked.model == kept.model && checked.usage == kept.usage);
    }
}

//! The text of a whole completion, whose choices have `text`. `sse::Accumulator` does the same for streams.

use super::{Answer, AnswerLiteral, AnswerTexts, JoinedText};
use crate::json::content::{Piece, each_piece};
use crate::json::kind::Kind;
use crate::json::scan::scan;

/// Where the choices of an answer have their text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChoiceForm {
    /// In `message`, or in `delta` of a stream: chat completions.
    #[default]
    Message,
    /// In `text`: completions.
    Text,
}

/// Reads what a record keeps of a `text_completion` body: an empty text of any other shape, None of what is not JSON.
pub fn completion_text(body: &[u8]) -> Option<Answer> {
    let scan = scan(body).ok()?;
    let mut texts = AnswerTexts::default();
    for choices in scan.members_in_any_case(body, "choices") {
        for choice in scan.view(body, choices.value).elements() {
            texts.push(JoinedText::of_value(choice, "text"));
        }
    }
    Some(texts.into_answer(body, &scan))
}

/// The strings that hold the text of every choice, ascending. None when it is not JSON.
pub fn completion_literals(body: &[u8]) -> Option<Vec<AnswerLiteral>> {
    let scan = scan(body).ok()?;
    let mut literals = Vec::new();
    let choices = scan.members_in_any_case(body, "choices");
    let choices = choices.flat_map(|choices| scan.view(body, choices.value).elements());
    for choice in choices.filter(|choice| choice.kind() == Kind::Object) {
        each_piece(choice, "text", &mut |piece| {
            if let Piece::Text(text) = piece {
                literals.push(AnswerLiteral {
                    span: text.span(),
                    is_arguments: false,
                });
            }
        });
    }
    literals.sort_by_key(|literal: &AnswerLiteral| literal.span.start);
    Some(literals)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{completion_literals, completion_text};
    use crate::json::checked_completion;

    #[test]
    fn the_texts_of_the_choices_are_recorded_and_everything_else_is_checked_behind_them() {
        for (body, recorded, checked) in [
            (
                r#"{"id":"no","object":"no","choices":[{"index":0,"text":"a","logprobs":{"tokens":["no"]},"finish_reason":"no"}]}"#,
                "a",
                "a",
            ),
            (
                r#"{"choices":[{"text":"a","reasoning":"c"},{"text":"b"}]}"#,
                "a\nb",
                "a\nb\nc",
            ),
            (
                r#"{"choices":[{"text":"","message":{"content":"a"}}],"x":"b"}"#,
                "",
                "a\nb",
            ),
            (r#"{"CHOICES":[{"Text":"a"}]}"#, "a", "a"),
        ] {
            let kept = completion_text(body.as_bytes()).unwrap();
            assert_eq!(
                (kept.text.as_str(), kept.has_unreadable),
                (recorded, false),
                "{body}"
            );
            let all = checked_completion(body.as_bytes()).unwrap();
            assert_eq!(
                (all.text.as_str(), all.has_unreadable),
                (checked, false),
                "{body}"
            );
        }
        for body in [r#"{"choices":[{"text":7}]}"#, "{}", r#"{"choices":[{}]}"#] {
            assert!(
                checked_completion(body.as_bytes()).unwrap().has_unreadable,
                "{body}"
            );
        }
        assert!(completion_text(b"<html>").is_none());
    }

    #[test]
    fn the_strings_of_the_texts_are_found() {
        let body = r#"{"choices":[{"text":"a"},{"message":{"content":"no"},"text":"b"}]}"#;
        let literals = completion_literals(body.as_bytes()).unwrap();
        let texts: Vec<&str> = literals.iter().map(|one| &body[one.span.clone()]).collect();
        assert_eq!(texts, [r#""a""#, r#""b""#]);
    }
}

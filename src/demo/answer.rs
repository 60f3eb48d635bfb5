//! What the demo says: a few fixed sentences of `answers.json`, chosen by rule, in the language of the question.
//! It quotes the size of the prompt and never its text, unless asked to with `echo:`, or calls the tool that the prompt
//! orders. Not a model.

use super::judge;
use super::request::ChatCall;
use super::tokens::{estimated_tokens, words_within};
use super::tool_call::ToolCall;
use serde_json::Value;
use std::sync::LazyLock;

/// One choice's text or call of a tool, and why it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Empty where a tool is called.
    pub(super) text: String,
    /// `stop`, `tool_calls`, or `length` when the caller's token limit cut it.
    pub(super) finish_reason: &'static str,
    pub(super) tool: Option<ToolCall>,
}

impl Answer {
    pub(super) fn text(text: String, finish_reason: &'static str) -> Self {
        Self {
            text,
            finish_reason,
            tool: None,
        }
    }

    fn call(tool: &ToolCall) -> Self {
        Self {
            text: String::new(),
            finish_reason: "tool_calls",
            tool: Some(tool.clone()),
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        let call = self.tool.as_ref().map_or(0, ToolCall::tokens);
        estimated_tokens(&self.text).saturating_add(call)
    }
}

/// By language and part.
static TEXTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("answers.json")).unwrap_or_default());

/// One answer per choice asked for.
pub(super) fn answers(call: &ChatCall) -> Vec<Answer> {
    if call.model == judge::NAME {
        return vec![Answer::text(judge::answer(call.prompt()), "stop")];
    }
    let answer = |number| match &call.tool {
        Some(tool) => Answer::call(tool),
        None => cut(text(call, number), call.max_tokens),
    };
    (1..=call.choices).map(answer).collect()
}

fn text(call: &ChatCall, number: u64) -> String {
    let prompt = call.prompt();
    if let Some(echo) = echo(prompt) {
        return echo.to_owned();
    }
    let mut parts = vec![mood(prompt), "size"];
    parts.extend((call.model == "demo-large").then_some("advice"));
    parts.extend((call.choices > 1).then_some("choice"));
    let texts = &TEXTS[language(prompt)];
    let texts: Vec<_> = parts
        .iter()
        .filter_map(|part| texts[part].as_str())
        .collect();
    let values = [
        ("{words}", prompt.split_whitespace().count() as u64),
        ("{characters}", prompt.chars().count() as u64),
        ("{messages}", call.messages.count),
        ("{number}", number),
        ("{choices}", call.choices),
    ];
    let fill = |text: String, (name, value): &(&str, u64)| text.replace(name, &value.to_string());
    values.iter().fold(texts.join(" "), fill)
}

/// What follows `echo:` or `эхо:`: lets a demo show what is found in a model's answer.
fn echo(prompt: &str) -> Option<&str> {
    let (order, rest) = prompt.trim_start().split_once(':')?;
    let is_order = matches!(order.to_lowercase().as_str(), "echo" | "эхо");
    Some(rest.trim()).filter(|rest| is_order && !rest.is_empty())
}

/// Russian when more letters are Cyrillic than Latin.
fn language(text: &str) -> &'static str {
    let is_cyrillic = |c: &char| matches!(c, '\u{400}'..='\u{4ff}');
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    match text.chars().filter(is_cyrillic).count() > latin {
        true => "russian",
        false => "english",
    }
}

fn mood(prompt: &str) -> &'static str {
    let lower = prompt.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphabetic());
    match words.find(|word| !word.is_empty()) {
        _ if prompt.contains('?') => "question",
        Some("hello" | "hi" | "hey" | "привет" | "здравствуйте") => "greeting",
        Some("thanks" | "thank" | "спасибо" | "благодарю") => "thanks",
        _ => "statement",
    }
}

fn cut(text: String, max_tokens: Option<u64>) -> Answer {
    let (pieces, room) = (pieces(&text), max_tokens.map_or(u64::MAX, words_within));
    if pieces.len() as u64 <= room {
        return Answer::text(text, "stop");
    }
    let kept = pieces.into_iter().take(room as usize).collect::<String>();
    Answer::text(kept.trim_end().to_owned(), "length")
}

/// The pieces a stream sends: each word with the white space after it. Their sum is the text.
pub(super) fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let word = text.find(char::is_whitespace).unwrap_or(text.len());
        let space = text[word..].find(|c: char| !c.is_whitespace());
        let (piece, rest) = text.split_at(space.map_or(text.len(), |space| word + space));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::demo::tokens::tokens_of_words;

    fn ask(prompt: &str, rest: &str) -> Vec<Answer> {
        let content = serde_json::to_string(prompt).unwrap();
        let body = format!(
            r#"{{"model":"demo-small","messages":[{{"role":"user","content":{content}}}]{rest}}}"#
        );
        answers(&ChatCall::read(body.as_bytes(), None).unwrap())
    }

    #[test]
    fn the_language_of_the_question_is_answered() {
        assert!(ask("Привет, world", "")[0].text.starts_with("Здравствуйте"));
        assert!(ask("Hello, мир", "")[0].text.starts_with("Hello"));
        assert_eq!(language("12345"), "english");
    }

    #[test]
    fn every_part_is_there_in_both_languages() {
        let parts = [
            "greeting",
            "thanks",
            "question",
            "statement",
            "size",
            "advice",
            "choice",
        ];
        for language in ["english", "russian"] {
            for part in parts {
                assert!(TEXTS[language][part].is_string(), "{language} {part}");
            }
        }
    }

    #[test]
    fn the_size_is_quoted_in_code_points_and_the_text_is_not() {
        let answer = &ask("Счёт 4276 закрыт", "")[0].text;
        assert!(answer.contains("слов 3, символов 16"), "{answer}");
        assert!(!answer.contains("4276"), "{answer}");
    }

    #[test]
    fn an_echo_is_given_only_on_order() {
        assert_eq!(ask("echo: a@b.example", "")[0].text, "a@b.example");
        assert_eq!(ask("Эхо: да", "")[0].text, "да");
        assert_ne!(ask("echo:", "")[0].text, "");
        assert!(!ask("note: secret", "")[0].text.contains("secret"));
    }

    #[test]
    fn each_choice_has_its_own_text() {
        let answers = ask("Hi", r#","n":3"#);
        assert_eq!(answers.len(), 3);
        assert!(answers[2].text.ends_with("choice 3 of 3."));
        assert_ne!(answers[0], answers[1]);
    }

    #[test]
    fn a_token_limit_cuts_at_a_word_and_says_so() {
        let cut = &ask("Hi", r#","max_tokens":3"#)[0];
        assert_eq!(
            (cut.text.as_str(), cut.finish_reason),
            ("Hello! This", "length")
        );
        assert_eq!(ask("Hi", "")[0].finish_reason, "stop");
        assert_eq!(ask("Hi", r#","max_tokens":1"#)[0].text, "");
    }

    #[test]
    fn an_estimate_is_rounded_up_and_its_inverse_never_exceeds_it() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens("one"), 2);
        assert_eq!(estimated_tokens("a b c d e f g h i j"), 13);
        for tokens in 0..200 {
            assert!(tokens_of_words(words_within(tokens)) <= tokens);
        }
    }

    #[test]
    fn pieces_add_up_to_the_text() {
        for text in [
            "",
            "one",
            "two words",
            " leading  and trailing \n",
            "Привет, мир",
        ] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("a b\nc"), ["a ", "b\n", "c"]);
        assert_eq!(pieces("  a  b "), ["  ", "a  ", "b "]);
    }
}

//! What the demo says: a few fixed sentences chosen by rule, in the language of the question. It
//! quotes the size of the prompt and never its text, unless asked to with `echo:`. Not a model.

use super::completion::Answer;
use super::judge;
use super::request::ChatCall;
use super::words::{pieces, words_within};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    English,
    Russian,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Greeting,
    Thanks,
    Question,
    Statement,
}

/// One answer per choice asked for.
pub(super) fn answers(call: &ChatCall) -> Vec<Answer> {
    if call.model == judge::NAME {
        return vec![judge::answer(call)];
    }
    let of = call.choices;
    (1..=of)
        .map(|number| cut(text(call, number, of), call.max_tokens))
        .collect()
}

fn text(call: &ChatCall, number: u64, of: u64) -> String {
    let prompt = call.prompt();
    if let Some(echo) = echo(prompt) {
        return echo.to_owned();
    }
    let language = language(prompt);
    let mut text = opening(language, mood(prompt)).to_owned();
    text.push_str(&size(language, prompt, call.messages.len()));
    if call.model == "demo-large" {
        text.push_str(advice(language));
    }
    if of > 1 {
        text.push_str(&match language {
            Language::English => format!(" This is choice {number} of {of}."),
            Language::Russian => format!(" Это вариант {number} из {of}."),
        });
    }
    text
}

/// What follows `echo:` or `эхо:`: lets a demo show what is found in a model's answer.
fn echo(prompt: &str) -> Option<&str> {
    let (order, rest) = prompt.trim_start().split_once(':')?;
    let asked = matches!(order.to_lowercase().as_str(), "echo" | "эхо");
    (asked && !rest.trim().is_empty()).then(|| rest.trim())
}

/// Russian when more letters are Cyrillic than Latin.
fn language(text: &str) -> Language {
    let cyrillic = text
        .chars()
        .filter(|c| matches!(c, '\u{400}'..='\u{4ff}'))
        .count();
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    if cyrillic > latin {
        Language::Russian
    } else {
        Language::English
    }
}

fn mood(prompt: &str) -> Mood {
    let lower = prompt.to_lowercase();
    let first = lower
        .split(|c: char| !c.is_alphabetic())
        .find(|word| !word.is_empty());
    match first {
        _ if prompt.contains('?') => Mood::Question,
        Some("hello" | "hi" | "hey" | "привет" | "здравствуйте") => {
            Mood::Greeting
        }
        Some("thanks" | "thank" | "спасибо" | "благодарю") => Mood::Thanks,
        _ => Mood::Statement,
    }
}

fn opening(language: Language, mood: Mood) -> &'static str {
    match (language, mood) {
        (Language::English, Mood::Greeting) => "Hello! This is the demo upstream.",
        (Language::English, Mood::Thanks) => "You are welcome, says the demo upstream.",
        (Language::English, Mood::Question) => {
            "A good question, but this is the demo upstream and no model has read it."
        }
        (Language::English, Mood::Statement) => {
            "Noted. This is the demo upstream, so no model has read your text."
        }
        (Language::Russian, Mood::Greeting) => "Здравствуйте! Это демонстрационный сервер.",
        (Language::Russian, Mood::Thanks) => "Пожалуйста! С вами демонстрационный сервер.",
        (Language::Russian, Mood::Question) => {
            "Хороший вопрос, но это демонстрационный сервер, и модель его не читала."
        }
        (Language::Russian, Mood::Statement) => {
            "Принято. Это демонстрационный сервер, модель ваш текст не читала."
        }
    }
}

fn size(language: Language, prompt: &str, messages: usize) -> String {
    let words = prompt.split_whitespace().count();
    let characters = prompt.chars().count();
    match language {
        Language::English => format!(
            " Size of your prompt: {words} word(s), {characters} character(s), \
             in a conversation of {messages} message(s)."
        ),
        Language::Russian => format!(
            " Размер запроса: слов {words}, символов {characters}, \
             сообщений в беседе {messages}."
        ),
    }
}

fn advice(language: Language) -> &'static str {
    match language {
        Language::English => {
            " Set UPSTREAM_URL to a model server that speaks the same format, and the answers \
             will be its own; nothing else has to change."
        }
        Language::Russian => {
            " Укажите в UPSTREAM_URL сервер моделей с тем же форматом, и отвечать будет он; \
             больше ничего менять не нужно."
        }
    }
}

fn cut(text: String, max_tokens: Option<u64>) -> Answer {
    let pieces = pieces(&text);
    let room = max_tokens.map_or(u64::MAX, words_within);
    if pieces.len() as u64 <= room {
        return Answer {
            text,
            finish_reason: "stop",
        };
    }
    let kept = pieces.into_iter().take(room as usize).collect::<String>();
    Answer {
        text: kept.trim_end().to_owned(),
        finish_reason: "length",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

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
        assert_eq!(language("12345"), Language::English);
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
}

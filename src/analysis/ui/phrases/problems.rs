//! The part of the table that says what is wrong with a form. The service says it in English; a text
//! that no line here knows stays as it came.

use crate::analysis::ui::view::Language;
use std::borrow::Cow;

/// Where a text has something of its own.
const HOLE: &str = "{}";

/// A problem in the page's language.
pub(in crate::analysis::ui) fn told(language: Language, problem: &str) -> Cow<'_, str> {
    let lines = match language {
        Language::English => return problem.into(),
        Language::Russian => RUSSIAN,
    };
    let found = lines.iter().find_map(|(english, own)| {
        let parts = parts(english, problem)?;
        Some(filled(own, &parts))
    });
    found.map_or(problem.into(), Cow::Owned)
}

/// What stands in a template's holes; None for a text that it does not fit.
fn parts<'p>(template: &str, text: &'p str) -> Option<Vec<&'p str>> {
    let mut pieces = template.split(HOLE);
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut parts = Vec::new();
    for piece in pieces {
        let at = match piece {
            "" => rest.len(),
            piece => rest.find(piece)?,
        };
        let (part, behind) = rest.split_at(at);
        parts.push(part);
        rest = behind.strip_prefix(piece)?;
    }
    rest.is_empty().then_some(parts)
}

fn filled(template: &str, parts: &[&str]) -> String {
    let fill = |text: String, part: &&str| text.replacen(HOLE, part, 1);
    parts.iter().fold(template.to_owned(), fill)
}

const RUSSIAN: &[(&str, &str)] = &[
    ("missing", "не заполнено"),
    ("is empty", "пусто"),
    (
        "is empty; allowed: 1 to {} characters",
        "пусто; допустимо знаков: от 1 до {}",
    ),
    (
        "has {} characters; allowed: 1 to {}",
        "знаков: {}; допустимо: от 1 до {}",
    ),
    (
        "has {} characters; allowed: up to {}",
        "знаков: {}; допустимо: до {}",
    ),
    (
        "has {} elements; allowed: at most {}",
        "строк: {}; допустимо: не больше {}",
    ),
    (
        "is too long; allowed: {} characters",
        "слишком длинно; допустимо знаков: {}",
    ),
    (
        "must be one line of 1 to {} characters",
        "нужна одна строка; знаков: от 1 до {}",
    ),
    (
        "has control characters; allowed: one line of text",
        "есть управляющие знаки; допустима одна строка текста",
    ),
    (
        "has control characters; allowed: text with line breaks and tabs",
        "есть управляющие знаки; допустим текст с переводами строк и табуляцией",
    ),
    (
        "must not have control characters, nor spaces at its ends",
        "не должно быть управляющих знаков и пробелов по краям",
    ),
    (
        "must be a whole number from {} to {}",
        "нужно целое число от {} до {}",
    ),
    ("must be a number from 0 to 1", "нужно число от 0 до 1"),
    (
        "must be low < high < critical",
        "нужно по возрастанию: низкий < высокий < критический",
    ),
    ("is no regex: {}", "не регулярное выражение: {}"),
    (
        "matches the empty text; allowed: a regex that needs a character",
        "подходит и пустому тексту; нужно выражение хотя бы с одним знаком",
    ),
    (
        "is larger than {} bytes when compiled",
        "слишком велико: больше {} байт в собранном виде",
    ),
    (
        "are for user messages only (§4.3); allowed: an empty list",
        "только для сообщений пользователя; для ответов список должен быть пуст",
    ),
    (
        "is not set; app_mode sync needs the text of the answer to a blocked call",
        "не задано; в синхронном режиме нужен текст ответа на заблокированный вызов",
    ),
    (
        "is an empty list; allowed: at least one role",
        "ничего не выбрано; нужен хотя бы один вид сообщений",
    ),
    (
        "is an empty list; allowed: at least one pattern, or none of this field",
        "ничего не выбрано; нужен хотя бы один шаблон",
    ),
    (
        "needs app_mode sync: in async mode no answer is replaced",
        "нужен синхронный режим: в асинхронном ответы не заменяются",
    ),
    (
        "hold_back needs app_mode sync: in async mode streams are delivered as they are",
        "проверке на лету нужен синхронный режим: в асинхронном потоки передаются как есть",
    ),
    (
        "hold_back cannot go with replace_response: one streams the answer, the other waits for its end",
        "проверка на лету несовместима с заменой ответов: замена ждёт конца ответа",
    ),
    (
        "hold_back cannot go with redact_upstream: the values it puts back would end the stream",
        "проверка на лету несовместима со скрытием от модели: возвращённые значения оборвали бы поток",
    ),
    (
        "hold_back needs block_on.dataclean: sensitive data is all it looks for",
        "проверке на лету нужна блокировка по чувствительным данным: ничего другого она не ищет",
    ),
    (
        "closed needs app_mode sync: in async mode the backend is not awaited",
        "для отказа нужен синхронный режим: в асинхронном вердикта не ждут",
    ),
    (
        "is no number of calls; allowed: 1 to {}",
        "не число вызовов; допустимо: от 1 до {}",
    ),
    (
        "needs requests_per_second or requests_per_minute",
        "не задано число вызовов за минуту или за секунду",
    ),
    ("is not one of the list", "нет в списке"),
    (
        "is empty; allowed: at least one of {}",
        "ничего не выбрано; нужно хотя бы одно из: {}",
    ),
    ("must be in the future", "должно быть в будущем"),
    (
        "must be a day, such as 2027-01-31",
        "нужен день, например 2027-01-31",
    ),
    ("must be a UUID", "нужен UUID"),
    (
        "no application has this id",
        "приложения с таким идентификатором нет",
    ),
    ("is taken; choose another one", "занято; выберите другое"),
    (
        "allowed: 1 to {} letters, digits and . - _ @ +",
        "допустимо от 1 до {} знаков: буквы, цифры и . - _ @ +",
    ),
    (
        "is too short; allowed: {} to {} characters",
        "слишком коротко; допустимо знаков: от {} до {}",
    ),
    (
        "is too long; allowed: {} to {} characters",
        "слишком длинно; допустимо знаков: от {} до {}",
    ),
    ("must have at most {} characters", "знаков не больше {}"),
    ("must not be after to", "не может быть позже конца"),
    (
        "must be milliseconds since 1970 or a time such as {}",
        "нужно время, например {}",
    ),
    (
        "must be flagged, clean, guardrails, custom_policy, dataclean, blocked or failed",
        "такого вердикта нет",
    ),
    ("the account is disabled", "учётная запись отключена"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_has_of_its_own_is_taken_over_and_what_is_unknown_stays() {
        let russian = |text| told(Language::Russian, text).into_owned();
        assert_eq!(
            russian("has 7 characters; allowed: 1 to 5"),
            "знаков: 7; допустимо: от 1 до 5"
        );
        assert_eq!(
            russian("is no regex: unclosed group"),
            "не регулярное выражение: unclosed group"
        );
        for text in ["something new", "", "is empty, too", "missing; allowed: x"] {
            assert_eq!(russian(text), text);
        }
        assert_eq!(told(Language::English, "missing"), "missing");
    }

    #[test]
    fn a_translation_has_the_holes_of_its_text() {
        for (english, russian) in RUSSIAN {
            let holes = |text: &str| text.matches(HOLE).count();
            assert_eq!(holes(english), holes(russian), "{english}");
        }
    }
}

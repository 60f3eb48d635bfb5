//! How something else takes the place of a part of a value's text (CONTRACT 41), so that the body stays JSON, and so do
//! arguments inside a string.

use super::{Edit, replace_spans};
use crate::json::arguments::{ArgumentNumbers, is_of_number};
use crate::json::form::Form;
use crate::json::literal::{escape_into, raw_spans, write_string};
use crate::json::scan::scan;
use crate::json::text::{decode, unescape};
use std::ops::Range;

/// The edits of a value, given as it is written, that replace parts of its text ([`Form::text`]). Both ascend and do not
/// overlap. What takes the place of a number, or of a part of one, makes it a string.
pub fn replace_text<W: AsRef<str>>(
    form: Form,
    token: &[u8],
    edits: &[Edit<W>],
) -> Vec<Edit<Vec<u8>>> {
    let edits = edits
        .iter()
        .map(|(span, with)| (span.clone(), with.as_ref().to_owned()));
    let edits: Vec<Edit<String>> = edits.collect();
    match form {
        Form::Text | Form::Name => of_string(token, edits),
        Form::Number => of_number(token, edits),
        Form::Arguments => of_string(token, of_arguments(&unescape(token), edits)),
    }
}

fn of_string(token: &[u8], edits: Vec<Edit<String>>) -> Vec<Edit<Vec<u8>>> {
    let (spans, texts): (Vec<_>, Vec<_>) = edits.into_iter().unzip();
    let escaped = texts.iter().map(|text| {
        let mut escaped = Vec::with_capacity(text.len());
        escape_into(text, &mut escaped);
        escaped
    });
    raw_spans(token, &spans).into_iter().zip(escaped).collect()
}

fn of_number(token: &[u8], mut edits: Vec<Edit<String>>) -> Vec<Edit<Vec<u8>>> {
    let text = Form::Number.text(token);
    // What a check reads apart is no part of the number.
    if let Some(blank) = text.find(' ')
        && edits.iter().all(|(span, _)| !span.contains(&blank))
    {
        edits.push((blank..blank + 1, String::new()));
        edits.sort_by_key(|(span, _)| span.start);
    }
    let text = replace_spans(text.as_bytes(), &edits);
    let mut string = Vec::with_capacity(text.len() + 2);
    write_string(&String::from_utf8_lossy(&text), &mut string);
    vec![(0..token.len(), string)]
}

/// The edits of what the string around arguments holds.
fn of_arguments(arguments: &str, mut edits: Vec<Edit<String>>) -> Vec<Edit<String>> {
    let is_json = scan(arguments.as_bytes()).is_ok();
    let mut numbers = Vec::new();
    if is_json {
        let length = decode(arguments).len();
        let begins_behind = edits.partition_point(|(span, _)| span.end <= length);
        numbers = of_written_out(arguments, length, edits.split_off(begins_behind));
    }
    if arguments.contains('\\') {
        // What is no JSON is read as it is first, and behind a line feed decoded.
        let as_it_is = if is_json { 0 } else { arguments.len() + 1 };
        let begins_decoded = edits.partition_point(|(span, _)| span.start < as_it_is);
        let decoded = edits.split_off(begins_decoded).into_iter();
        let (spans, texts): (Vec<_>, Vec<_>) = decoded
            .map(|(span, text)| (span.start - as_it_is..span.end - as_it_is, text))
            .unzip();
        let quoted = format!("\"{arguments}\"");
        let raw = raw_spans(quoted.as_bytes(), &spans).into_iter();
        edits.extend(raw.map(|raw| raw.start - 1..raw.end - 1).zip(texts));
    }
    // Before those inside the same number.
    numbers.extend(edits);
    let mut edits = numbers;
    edits.sort_by_key(|(span, _)| span.start);
    let (mut end, mut outside) = (0, Outside::of(arguments));
    let mut placed = Vec::with_capacity(edits.len());
    for (span, text) in edits {
        let span = span.start..span.end.min(arguments.len());
        if span.start < end || span.end < span.start {
            continue;
        }
        end = span.end;
        if !(is_json && outside.strings(span.start)) {
            placed.push((span, text));
            continue;
        }
        let number = outside.numbers(&span);
        end = number.end;
        placed.push((number.start..number.start, "\"".to_owned()));
        placed.push((span, text));
        placed.push((number.end..number.end, "\"".to_owned()));
    }
    placed
}

/// The edits of numbers that a check reads behind arguments of so many bytes: the first of each takes the place of the
/// whole number, whose digits stand in another order than they are read.
fn of_written_out(arguments: &str, length: usize, edits: Vec<Edit<String>>) -> Vec<Edit<String>> {
    let (mut placed, mut edits) = (Vec::new(), edits.into_iter().peekable());
    let mut end = length;
    if edits.peek().is_none() {
        return placed;
    }
    ArgumentNumbers::each_of(arguments, &mut |number| {
        let start = end + "\n".len() + number.label_bytes;
        end += "\n".len() + number.text.len();
        while let Some((span, text)) = edits.next_if(|(span, _)| span.start < end) {
            let is_new = placed.last().is_none_or(|(last, _)| *last != number.span);
            // What is found in its name stands there too.
            if is_new && span.end > start {
                placed.push((number.span.clone(), text));
            }
        }
    });
    placed
}

/// A pass over JSON.
struct Outside<'a> {
    json: &'a [u8],
    at: usize,
    in_string: bool,
}

impl<'a> Outside<'a> {
    fn of(json: &'a str) -> Self {
        Self {
            json: json.as_bytes(),
            at: 0,
            in_string: false,
        }
    }

    /// Whether a place, behind those before, is outside the strings.
    fn strings(&mut self, place: usize) -> bool {
        while self.at < place.min(self.json.len()) {
            match self.json[self.at] {
                b'\\' if self.in_string => self.at += 1,
                b'"' => self.in_string = !self.in_string,
                _ => {}
            }
            self.at += 1;
        }
        !self.in_string
    }

    /// The numbers that a span reaches into, with what is between them.
    fn numbers(&self, span: &Range<usize>) -> Range<usize> {
        let is_of_number = |byte: &&u8| is_of_number(**byte);
        let before = self.json[..span.start]
            .iter()
            .rev()
            .take_while(is_of_number);
        let behind = self.json[span.end..].iter().take_while(is_of_number);
        span.start - before.count()..span.end + behind.count()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::replace_text;
    use crate::json::{Form, replace_spans, scan};

    /// The value with every `<…>` or run of eights replaced.
    fn replaced(form: Form, token: &str) -> String {
        let text = form.text(token.as_bytes()).into_owned();
        let mut edits = Vec::new();
        let mut at = 0;
        while let Some(start) = text[at..].find(['<', '8']).map(|place| at + place) {
            let rest = &text[start..];
            at = start
                + match rest.starts_with('8') {
                    true => rest.find(|c| c != '8').unwrap_or(rest.len()),
                    false => rest.find('>').unwrap() + 1,
                };
            edits.push((start..at, "[X]"));
        }
        let edits = replace_text(form, token.as_bytes(), &edits);
        let changed = replace_spans(token.as_bytes(), &edits);
        assert!(scan(&changed).is_ok(), "{token}");
        String::from_utf8(changed).unwrap()
    }

    #[test]
    fn what_is_replaced_stays_json() {
        for (form, token, expected) in [
            (Form::Text, r#""a <\n> b""#, r#""a [X] b""#),
            (Form::Name, r#""<\u0041>""#, r#""[X]""#),
            (Form::Number, "8888888888", r#""[X]""#),
            (Form::Number, "1234888888", r#""1234[X]""#),
            (Form::Number, "8.888888888e9", r#""[X]""#),
            (Form::Number, "18888888.8", r#""1[X].[X]""#),
            (
                Form::Arguments,
                r#""{\"a\":\"<x>\",\"<y>\":[-1888,8 ,\"\\\"\",8]}""#,
                r#""{\"a\":\"[X]\",\"[X]\":[\"-1[X]\",\"[X]\" ,\"\\\"\",\"[X]\"]}""#,
            ),
            (
                Form::Arguments,
                r#""{\"a\":\"\\u003cx\\n>\\\\\",\"b\":88.8}""#,
                r#""{\"a\":\"[X]\\\\\",\"b\":\"[X].8\"}""#,
            ),
            (
                Form::Arguments,
                r#""{\"a\":1888888888.0,\"b\":\"\\n<x>\"}""#,
                r#""{\"a\":\"[X]\",\"b\":\"\\n[X]\"}""#,
            ),
            (
                Form::Arguments,
                r#""{\"<a>\":[1.2345679e7, 1.1888888881e9 ,7e7], \"b\":-1234888888.5}""#,
                r#""{\"[X]\":[1.2345679e7, \"[X]\" ,7e7], \"b\":\"[X]\"}""#,
            ),
            (
                Form::Arguments,
                r#""{\"\\u003ca>\":[\"\\\\\",81888888881e-1]}""#,
                r#""{\"[X]\":[\"\\\\\",\"[X]\"]}""#,
            ),
            (Form::Arguments, r#""<x> 88""#, r#""[X] [X]""#),
            (
                Form::Arguments,
                r#""<x> C:\\new \\u0038 8\\n""#,
                r#""[X] C:\\new [X] [X]\\n""#,
            ),
        ] {
            assert_eq!(replaced(form, token), expected, "{token}");
        }
    }
}

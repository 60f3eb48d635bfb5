//! Lines of JSON: `{"id","text"}` in, `{"id","entities","guardrails",…}` out, one for one. A line that cannot be
//! read gets its line too, with `errors`, so that none is missed; no text is ever quoted.

use super::{Block, Done, Scanner};
use monitor_model::{Entity, GuardrailsReport};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow, default)]
    id: Option<&'l RawValue>,
    text: String,
}

#[derive(Default, Serialize)]
struct Answer<'l> {
    id: Option<&'l RawValue>,
    entities: Vec<Entity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleaned_text: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guardrails: Option<GuardrailsReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
}

pub(super) fn scan(scanner: &Scanner, block: &Block, done: &mut Done) {
    for (number, line) in (block.line..).zip(block.text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Line<'_>>(line) {
            Ok(line) => answer(scanner, line),
            Err(error) => {
                let column = error.column();
                Answer {
                    errors: vec![format!(
                        "column {column}: no JSON object with a string `text`"
                    )],
                    ..Answer::default()
                }
            }
        };
        let place = format!("{}, line {number}", block.file.display());
        let problems = answer
            .errors
            .iter()
            .map(|error| format!("{place}: {error}"));
        done.problems.extend(problems);
        done.kinds
            .extend(answer.entities.iter().map(|find| find.kind.clone()));
        match serde_json::to_writer(&mut done.out, &answer) {
            Ok(()) => done.out.push(b'\n'),
            Err(_) => done.problems.push(format!("{place}: no answer")),
        }
    }
}

fn answer<'l>(scanner: &Scanner, line: Line<'l>) -> Answer<'l> {
    let (report, mut errors) = scanner.look(&line.text);
    let (guardrails, failures) = scanner.judge(&line.text);
    errors.extend(failures);
    Answer {
        id: line.id,
        entities: report.entities,
        cleaned_text: report.cleaned_text.filter(|_| scanner.has_copy),
        guardrails: Some(guardrails),
        errors,
    }
}

//! The calls of tools in a stream of chat completions: functions, custom tools, and the older `function_call`.

use super::super::choice_text::{Budget, ChoiceText, short};
use super::super::delta::{Delta, Function, Part, text};
use super::Accumulator;
use monitor_model::{MOST_TOOL_BYTES, ToolPart, ToolParts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The index of a `function_call`, which has none: behind all others.
const OLD_CALL: u64 = u64::MAX;

/// The calls of a stream whose check reads their texts in another way. They count in a bound of their own, so that the
/// check reads as much of the stream as it would without them.
pub(super) struct CheckedCalls {
    pub(super) budget: Budget,
    choices: BTreeMap<u64, ChoiceText>,
}

impl CheckedCalls {
    /// Within the bound of all texts. More than what the parts of a record and their entries take is never needed.
    pub(super) fn new(max_text_bytes: usize) -> Self {
        Self {
            budget: Budget::new(max_text_bytes.min(2 * MOST_TOOL_BYTES)),
            choices: BTreeMap::new(),
        }
    }
}

/// One element of `delta.tool_calls`.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Part<'a>,
    #[serde(borrow)]
    index: Part<'a>,
    #[serde(borrow)]
    function: Part<'a>,
    #[serde(borrow)]
    custom: Part<'a>,
}

/// The part of `tool_calls[].custom` that carries text.
#[derive(Deserialize)]
struct Custom<'a> {
    #[serde(borrow)]
    name: Part<'a>,
    #[serde(borrow)]
    input: Part<'a>,
}

impl<'a> Custom<'a> {
    /// Its input is to a record what the arguments of a function are.
    fn into_function(self) -> Function<'a> {
        Function {
            name: self.name,
            arguments: self.input,
        }
    }
}

impl Accumulator {
    /// The calls of all choices, within `most` bytes.
    pub fn tool_calls(&self, most: usize) -> ToolParts {
        let (budget, choices) = match &self.checked_calls {
            Some(calls) => (&calls.budget, &calls.choices),
            None => (&self.budget, &self.choices),
        };
        let mut parts = ToolParts::default();
        let calls = choices.values();
        let mut calls = calls.flat_map(|choice| choice.tools.values()).peekable();
        while let Some(call) = calls.next() {
            let part = ToolPart {
                call_id: call.id.as_deref().unwrap_or_default().to_owned(),
                name: call.name.clone(),
                text: call.arguments.clone(),
                is_cut: calls.peek().is_none() && budget.is_exceeded(),
            };
            parts.push(part, most);
        }
        parts
    }

    /// Takes the calls of a delta.
    pub(super) fn calls(&mut self, choice: u64, delta: &Delta<'_>) {
        let skipped = self.skipped;
        for (place, call) in (0..).zip(self.list(delta.tool_calls)) {
            self.call(choice, place, call);
        }
        let older = delta.function_call;
        let older = older.filter(|call| call.get().starts_with('{'));
        if let Some(function) = self.read::<Function<'_>>(older) {
            self.called(choice, OLD_CALL, None, &function);
        }
        if self.checked_calls.is_some() {
            // The check has read these texts, and counts what it cannot read.
            self.skipped = skipped;
        }
    }

    fn call(&mut self, choice: u64, place: u64, call: Part<'_>) {
        let Some(call) = self.read::<Call<'_>>(call) else {
            return;
        };
        let called = match call.function {
            Some(_) => self.read::<Function<'_>>(call.function),
            None => {
                let custom = self.read::<Custom<'_>>(call.custom);
                custom.map(Custom::into_function)
            }
        };
        if let Some(called) = called {
            let index = self.index(call.index, place);
            self.called(choice, index, call.id, &called);
        }
    }

    fn called(&mut self, choice: u64, index: u64, id: Part<'_>, function: &Function<'_>) {
        let (budget, choices) = match &mut self.checked_calls {
            Some(calls) => (&mut calls.budget, &mut calls.choices),
            None => (&mut self.budget, &mut self.choices),
        };
        let Some(choice) = budget.entry(choices, choice) else {
            return;
        };
        let Some(called) = budget.entry(&mut choice.tools, index) else {
            return;
        };
        if called.id.is_none() {
            called.id = text(id).map(|id| short(&id).into());
        }
        // Some upstreams repeat the whole name in every delta.
        if let Some(name) = text(function.name).filter(|name| *name != called.name) {
            budget.append(&mut called.name, &name);
        }
        if let Some(arguments) = text(function.arguments) {
            budget.append(&mut called.arguments, &arguments);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Accumulator;

    /// One event with a call.
    fn call(call: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)
    }

    #[test]
    fn the_calls_of_a_stream_are_kept_for_its_check_too() {
        let events = [
            call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#),
            call(r#"{"index":1,"id":"b","custom":{"name":"exec","input":"ls"}}"#),
            call(
                r#"{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":null,"custom":{"input":" /"}}"#,
            ),
            r#"{"choices":[{"delta":{"function_call":{"name":"g","arguments":"1"}}}]}"#.to_owned(),
            r#"{"choices":[{"delta":{"function_call":{"arguments":"2"},"tool_calls":null}}]}"#
                .to_owned(),
            r#"{"choices":[{"delta":{"function_call":null}}]}"#.to_owned(),
        ];
        for mut answer in [Accumulator::new(10_000), Accumulator::of_every_text(10_000)] {
            events
                .iter()
                .for_each(|event| answer.push(event.as_bytes()));
            let parts = answer.tool_calls(usize::MAX).parts;
            let parts = parts
                .iter()
                .map(|part| [&*part.call_id, &*part.name, &*part.text]);
            let expected = [
                ["a", "f", "{\"x\":1}"],
                ["b", "exec", "ls /"],
                ["", "g", "12"],
            ];
            assert!(parts.eq(expected));
            // A record keeps the same text.
            let text = answer
                .checked_text()
                .map_or_else(|| answer.text(), |all| all.text);
            assert_eq!(text, "f\n{\"x\":1}\nexec\nls /\ng\n12");
            assert_eq!(answer.skipped(), 0);
        }
    }

    #[test]
    fn the_calls_of_a_checked_stream_count_and_leave_its_check_as_it_is() {
        let long = call(&format!(
            r#"{{"index":0,"function":{{"name":"f","arguments":"{}"}}}}"#,
            "x".repeat(3_000)
        ));
        let odd = call(r#"{"index":0,"function":7}"#);
        let mut answer = Accumulator::of_every_text(4_000);
        answer.push(long.as_bytes());
        // Once for the check, and once as a part.
        assert!(answer.kept() > 6_000, "{}", answer.kept());
        answer.push(odd.as_bytes());
        assert_eq!((answer.is_truncated(), answer.skipped()), (false, 0));
        answer.close();
        let kept = answer.kept();
        answer.push(call(r#"{"index":0,"function":{"arguments":"y"}}"#).as_bytes());
        assert_eq!(answer.kept(), kept);
        let parts = answer.tool_calls(usize::MAX).parts;
        assert!(parts[0].is_cut && parts[0].text.len() == 3_000);
    }
}

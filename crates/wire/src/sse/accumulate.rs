//! Joins the deltas of a streamed answer into the text of a record (CONTRACT 4). `json::answer_text` does the
//! same for whole answers, in the same order: content, else refusal, else tool calls. It never delays the
//! stream: events that it cannot read are counted.

use super::choice_text::{Budget, ChoiceText, short};
use super::delta::{Choice, Chunk, Delta, Function, Part, ToolCall, Usage, text, value};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The answer of one stream so far. No `Debug`: it holds the model's words.
pub struct Accumulator {
    budget: Budget,
    choices: BTreeMap<u64, ChoiceText>,
    id: Option<Box<str>>,
    model: Option<Box<str>>,
    usage: Option<Usage>,
    done: bool,
    error_seen: bool,
    skipped: u64,
}

impl Accumulator {
    /// `max_text_bytes` bounds all text kept; what comes after it is left out and marked.
    pub fn new(max_text_bytes: usize) -> Self {
        Self {
            budget: Budget::new(max_text_bytes),
            choices: BTreeMap::new(),
            id: None,
            model: None,
            usage: None,
            done: false,
            error_seen: false,
            skipped: 0,
        }
    }

    /// Takes the data of one event.
    pub fn push(&mut self, data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        // A client decodes bytes that are no UTF-8 the same way.
        let data = String::from_utf8_lossy(data);
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(&data) else {
            self.skipped += 1;
            return;
        };
        self.error_seen |= chunk.error.is_some();
        self.usage = value(chunk.usage).or(self.usage);
        if self.id.is_none() {
            self.id = text(chunk.id).map(|id| short(&id).into());
        }
        if self.model.is_none() {
            self.model = text(chunk.model).map(|model| short(&model).into());
        }
        for (place, choice) in (0..).zip(self.list(chunk.choices)) {
            self.choice(place, choice);
        }
    }

    /// The text of all choices in the order of their index, joined by line feeds.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.choices.values().map(ChoiceText::text).collect();
        let texts: Vec<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n")
    }

    /// Why each choice ended, by index, as far as it is known.
    pub fn finish_reasons(&self) -> impl Iterator<Item = (u64, &str)> {
        self.choices
            .iter()
            .filter_map(|(index, choice)| Some((*index, choice.finish_reason.as_deref()?)))
    }

    /// The answer's `id`, when it has one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The model that answered, when it is named.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The upstream's last word on tokens.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether `[DONE]` came.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether an `error` came in place of a chunk or inside one.
    pub fn error_seen(&self) -> bool {
        self.error_seen
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        self.budget.kept()
    }

    /// Nothing more is kept; what comes is left out and marked.
    pub fn close(&mut self) {
        self.budget.close();
    }

    /// Whether text was left out because of the bound.
    pub fn is_truncated(&self) -> bool {
        self.budget.is_exceeded()
    }

    /// Events, or parts of one, that could not be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn choice(&mut self, place: u64, choice: Part<'_>) {
        let Some(choice) = self.read::<Choice<'_>>(choice) else {
            return;
        };
        let index = value(choice.index).unwrap_or(place);
        if let Some(reason) = text(choice.finish_reason)
            && let Some(spoken) = self.budget.entry(&mut self.choices, index)
        {
            spoken.finish_reason = Some(short(&reason));
        }
        let Some(delta) = self.read::<Delta<'_>>(choice.delta) else {
            return;
        };
        self.say(index, delta.content, |spoken| &mut spoken.content);
        self.say(index, delta.refusal, |spoken| &mut spoken.refusal);
        for (place, call) in (0..).zip(self.list(delta.tool_calls)) {
            self.tool_call(index, place, call);
        }
    }

    fn say(&mut self, choice: u64, part: Part<'_>, field: fn(&mut ChoiceText) -> &mut String) {
        if let Some(piece) = text(part).filter(|piece| !piece.is_empty())
            && let Some(spoken) = self.budget.entry(&mut self.choices, choice)
        {
            self.budget.append(field(spoken), &piece);
        }
    }

    fn tool_call(&mut self, choice: u64, place: u64, call: Part<'_>) {
        let Some(call) = self.read::<ToolCall<'_>>(call) else {
            return;
        };
        let Some(function) = self.read::<Function<'_>>(call.function) else {
            return;
        };
        let index = value(call.index).unwrap_or(place);
        let Some(spoken) = self.budget.entry(&mut self.choices, choice) else {
            return;
        };
        let Some(called) = self.budget.entry(&mut spoken.tools, index) else {
            return;
        };
        // Some upstreams repeat the whole name in every delta.
        if let Some(name) = text(function.name).filter(|name| *name != called.name) {
            self.budget.append(&mut called.name, &name);
        }
        if let Some(arguments) = text(function.arguments) {
            self.budget.append(&mut called.arguments, &arguments);
        }
    }

    /// None for a part that is missing, and for one that cannot be read, which counts.
    fn read<'a, T: Deserialize<'a>>(&mut self, part: Part<'a>) -> Option<T> {
        let read = serde_json::from_str(part?.get());
        self.skipped += u64::from(read.is_err());
        read.ok()
    }

    fn list<'a>(&mut self, part: Part<'a>) -> Vec<Part<'a>> {
        self.read(part).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Accumulator, Usage};
    use crate::sse::Parser;

    fn told(events: &[&str]) -> Accumulator {
        let mut answer = Accumulator::new(10_000);
        events
            .iter()
            .for_each(|event| answer.push(event.as_bytes()));
        answer
    }

    fn content(index: usize, text: &str) -> String {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":{text}}}}}]}}"#)
    }

    #[test]
    fn what_is_kept_is_counted_and_behind_the_end_nothing_is() {
        let mut answer = told(&[&content(0, r#""abc""#)]);
        // An entry counts besides its text.
        let kept = answer.kept();
        assert_eq!(kept, 64 + 3);
        answer.close();
        answer.push(content(0, r#""d""#).as_bytes());
        assert_eq!((answer.text().as_str(), answer.kept()), ("abc", kept));
        assert!(answer.is_truncated());
    }

    const STREAMS: &[(&[&str], &str)] = &[
        (
            &[
                r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"He"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"y\n\u0416"}}]}"#,
            ],
            "Hey\nЖ",
        ),
        (
            &[
                r#"{"choices":[{"index":1,"delta":{"content":"b1"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"a1"}},{"index":1,"delta":{"content":"b2"}}]}"#,
            ],
            "a1\nb1b2",
        ),
        (
            &[r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#],
            "a\nb",
        ),
        (
            &[
                r#"{"choices":[{"index":0,"delta":{"content":null,"refusal":"I can"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"refusal":"not"}}]}"#,
            ],
            "I cannot",
        ),
        (
            &[r#"{"choices":[{"index":0,"delta":{"refusal":"no","content":"yes"}}]}"#],
            "yes",
        ),
        (
            &[
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":""}},{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\""}},{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
            ],
            "f\n{\"x\":1}\ng\n",
        ),
        (
            &[
                r#"{"choices":[{"delta":{"content":[{"type":"text","text":"p"},{"type":"image_url","image_url":"x"},{"type":"output_text","text":"q"}]}}]}"#,
            ],
            "p\nq",
        ),
        (
            &[
                r#"{"choices":[]}"#,
                r#"{"choices":null}"#,
                "{}",
                r#"{"choices":[{"index":0}]}"#,
                r#"{"choices":[null,{"delta":null}]}"#,
            ],
            "",
        ),
        (
            &[
                r#"{"x":[[[[[[{"deep":1e400}]]]]]],"choices":[{"logprobs":{"content":"x"},"delta":{"content":"a","y":{}}}]}"#,
            ],
            "a",
        ),
    ];

    #[test]
    fn deltas_become_the_text_of_every_choice() {
        for (events, text) in STREAMS {
            let answer = told(events);
            assert_eq!(
                (answer.text().as_str(), answer.skipped()),
                (*text, 0),
                "{events:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_counted_and_costs_nothing_else() {
        let bad = [
            "",
            "{",
            "nonsense",
            "[]",
            "7",
            r#"{"choices":5}"#,
            r#"{"choices":[7]}"#,
            r#"{"choices":[{"delta":7}]}"#,
        ];
        for event in bad {
            let answer = told(&[&content(0, "\"a\""), event, &content(0, "\"b\"")]);
            assert_eq!(
                (answer.text().as_str(), answer.skipped()),
                ("ab", 1),
                "{event}"
            );
        }
        for odd in ["7", "true", "{}", "[1]", r#"[{"type":"image"}]"#] {
            let answer = told(&[&content(0, "\"a\""), &content(0, odd), &content(0, "\"b\"")]);
            assert_eq!(answer.text(), "ab", "{odd}");
        }
    }

    #[test]
    fn half_characters_do_not_lose_the_rest() {
        let answer = told(&[&content(0, r#""a\ud83d""#), &content(0, r#""\ude00b""#)]);
        let text = answer.text();
        assert!(
            text.starts_with('a') && text.ends_with('b') && answer.skipped() == 0,
            "{text}"
        );
        let mut answer = Accumulator::new(1000);
        answer.push(b"{\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}");
        assert_eq!(answer.text(), "a\u{fffd}b");
    }

    #[test]
    fn the_rest_of_a_stream_is_remembered() {
        let answer = told(&[
            r#"{"id":"c-1","model":"m-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null}"#,
            r#"{"model":"m-2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"index":2,"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"x":{}}}"#,
            " [DONE] ",
        ]);
        assert_eq!((answer.id(), answer.model()), (Some("c-1"), Some("m-1")));
        let usage = Usage {
            prompt_tokens: Some(3),
            completion_tokens: Some(4),
            total_tokens: Some(7),
            ..Usage::default()
        };
        assert_eq!(answer.usage(), Some(usage));
        let reasons: Vec<_> = answer.finish_reasons().collect();
        assert_eq!(reasons, [(0, "stop"), (2, "length")]);
        assert!(answer.is_done() && !answer.error_seen() && !answer.is_truncated());
        let failed = told(&[r#"{"error":{"message":"m","code":500}}"#]);
        assert!(failed.error_seen() && !failed.is_done());
        assert!(!told(&[r#"{"error":null}"#]).error_seen());
    }

    #[test]
    fn text_beyond_the_bound_is_left_out_and_marked() {
        let mut answer = Accumulator::new(64 + 4);
        for piece in ["\"ab\"", "\"cжd\"", "\"e\""] {
            answer.push(content(0, piece).as_bytes());
        }
        assert_eq!(
            (answer.text().as_str(), answer.is_truncated()),
            ("abc", true)
        );
        answer.push(br#"{"choices":[{"index":0,"finish_reason":"stop"}]}"#);
        assert_eq!(answer.finish_reasons().count(), 1);
        let mut many = Accumulator::new(1000);
        for index in 0..1000 {
            many.push(content(index, "\"x\"").as_bytes());
        }
        assert!(many.choices.len() < 16 && many.is_truncated());
        let mut exact = Accumulator::new(64 + 2);
        exact.push(content(0, "\"ab\"").as_bytes());
        assert_eq!((exact.text().as_str(), exact.is_truncated()), ("ab", false));
    }

    #[test]
    fn every_cut_of_a_stream_gives_the_same_text() {
        let stream = format!(
            ": keepalive\n\ndata: {}\n\ndata: {}\r\n\r\ndata: {}\r\rdata: [DONE]\n\n",
            content(0, "\"é😀\""),
            content(1, "\"b\\n\""),
            content(0, "\"я\"")
        );
        let bytes = stream.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut parser = Parser::new(4096);
                let mut answer = Accumulator::new(4096);
                for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    parser.push(part, |event| answer.push(event.data));
                }
                assert_eq!(
                    (answer.text().as_str(), answer.is_done()),
                    ("é😀я\nb\n", true),
                    "{first}, {second}"
                );
            }
        }
    }
}

//! Events of the gateway's in a stream of the Responses API. Libraries take a response for broken where an item that has
//! begun has no end, and programs run a call once it has one: each item that has begun gets its end, and a call that they
//! must not run has not begun.

use super::answer::is_run_by_client;
use super::own::{self, item_of, part};
use crate::json::View;
use crate::protocol::events::each_event;
use crate::protocol::fields::{number, text};
use crate::protocol::own::frame;
use crate::protocol::{OwnAnswer, StreamWriter};
use crate::sse::pieces::{Field, Named};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most items that are followed, and the most bytes of them that are kept: the last event names no others.
const MOST_ITEMS: usize = 4_096;
const MOST_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(super) struct ResponsesWriter {
    /// The response as the first event has it, in JSON.
    response: Option<String>,
    /// The number of the next event.
    next_event: u64,
    items: BTreeMap<u64, Item>,
    /// The bytes of items that are kept.
    kept: usize,
}

/// An item that the client has the beginning of.
#[derive(Default)]
struct Item {
    id: String,
    is_message: bool,
    /// The text of its only part, as far as the client has it.
    text: String,
    has_part: bool,
    /// It has more than one part, or has ended one.
    is_complex: bool,
    is_done: bool,
    /// As it began, in JSON, where that is kept: of no call that the client runs, and of nothing that has ended.
    begun: Option<String>,
    /// As it ended, in JSON, where that is kept.
    done: Option<String>,
}

impl ResponsesWriter {
    fn see(&mut self, event: View<'_>) {
        let index = number(event, "output_index").unwrap_or_default();
        if let Some(number) = number(event, "sequence_number") {
            self.next_event = self.next_event.max(number.saturating_add(1));
        }
        let kind = text(event, "type").unwrap_or_default();
        if kind == "response.created" {
            let response = event.named("response").last();
            self.response = response.map(|response| response.raw().to_owned());
        }
        if !self.items.contains_key(&index) && self.items.len() == MOST_ITEMS {
            return;
        }
        match &*kind {
            "response.output_item.added" => {
                if let Some(added) = event.named("item").last() {
                    self.begin(index, added);
                }
            }
            "response.output_item.done" => {
                let done = event.named("item").last();
                self.item(index).is_done = true;
                self.keep(index, done.map(|done| done.raw().to_owned()));
            }
            "response.content_part.added" => {
                let part = event.named("part").last();
                let kind = part.and_then(|part| text(part, "type"));
                let item = self.item(index);
                item.is_complex |= std::mem::replace(&mut item.has_part, true)
                    || kind.as_deref() != Some("output_text");
            }
            "response.content_part.done" | "response.output_text.done" => {
                self.item(index).is_complex = true;
            }
            "response.output_text.delta" => {
                let delta = text(event, "delta").unwrap_or_default();
                self.add_text(index, &delta);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.item(index);
            }
            _ => {}
        }
    }

    fn item(&mut self, index: u64) -> &mut Item {
        self.items.entry(index).or_default()
    }

    fn begin(&mut self, index: u64, added: View<'_>) {
        let item = self.items.entry(index).or_default();
        item.id = text(added, "id").unwrap_or_default().into_owned();
        item.is_message = text(added, "type").as_deref() == Some("message");
        let raw = added.raw();
        if item.begun.is_none() && !is_run_by_client(added) && self.kept + raw.len() <= MOST_BYTES {
            self.kept += raw.len();
            item.begun = Some(raw.to_owned());
        }
    }

    /// Adds to the text of an item. One whose text is too long gets none of the gateway's.
    fn add_text(&mut self, index: u64, text: &str) {
        let item = self.items.entry(index).or_default();
        match self.kept + text.len() <= MOST_BYTES {
            true => {
                self.kept += text.len();
                item.text.push_str(text);
            }
            false => item.is_complex = true,
        }
    }

    /// Keeps an item as it ended, in place of its beginning and its text.
    fn keep(&mut self, index: u64, done: Option<String>) {
        let item = self.items.entry(index).or_default();
        let before = [item.done.take(), item.begun.take()].into_iter().flatten();
        self.kept -= before.map(|json| json.len()).sum::<usize>();
        self.kept -= std::mem::take(&mut item.text).len();
        item.done = done.filter(|done| self.kept + done.len() <= MOST_BYTES);
        self.kept += item.done.as_ref().map_or(0, String::len);
    }

    fn frame(&mut self, name: &str, mut data: Value) -> Vec<u8> {
        data["type"] = name.into();
        data["sequence_number"] = self.next_event.into();
        self.next_event += 1;
        frame(name, &data)
    }

    /// The message that the gateway's text stands in: the one that is open, or one of its own.
    fn open_message(&mut self, choice: u64, answer: &OwnAnswer<'_>, out: &mut Vec<u8>) -> u64 {
        let open = self.items.get(&choice).filter(|item| item.can_go_on());
        if let Some(item) = open {
            if !item.has_part {
                out.extend(self.begin_part(choice));
            }
            return choice;
        }
        let last = self.items.keys().next_back();
        let index = last.map_or(0, |last| last.saturating_add(1));
        let begun = item_of(answer, "in_progress", Vec::new());
        let item = Item {
            id: begun["id"].as_str().unwrap_or_default().to_owned(),
            is_message: true,
            ..Item::default()
        };
        self.items.insert(index, item);
        let data = json!({"output_index": index, "item": begun});
        out.extend(self.frame("response.output_item.added", data));
        out.extend(self.begin_part(index));
        index
    }

    /// Ends the items that get no more text, all but a message that goes on.
    fn end_others(&mut self, choice: u64, out: &mut Vec<u8>) {
        let open = self.items.iter().filter(|(index, item)| {
            let goes_on = **index == choice && item.can_go_on();
            !goes_on && !item.is_done
        });
        let ended = open.filter_map(|(index, item)| Some((*index, item.ended()?)));
        for (index, ended) in ended.collect::<Vec<_>>() {
            let data = json!({"output_index": index, "item": ended});
            out.extend(self.frame("response.output_item.done", data));
            let item = self.item(index);
            item.is_done = true;
            item.done = item.is_message.then(|| ended.to_string());
        }
    }

    fn begin_part(&mut self, index: u64) -> Vec<u8> {
        let id = self.id(index);
        let data =
            json!({"item_id": id, "output_index": index, "content_index": 0, "part": part("")});
        self.frame("response.content_part.added", data)
    }

    fn id(&self, index: u64) -> String {
        self.items
            .get(&index)
            .map(|item| item.id.clone())
            .unwrap_or_default()
    }
}

impl Item {
    /// Whether it is a message to which the gateway's text can be added.
    fn can_go_on(&self) -> bool {
        self.is_message && !self.is_done && !self.is_complex
    }

    /// The item as far as the client has it; None of a call that it runs.
    fn ended(&self) -> Option<Value> {
        let item = serde_json::from_str(self.begun.as_deref()?).ok();
        let mut item = item.filter(Value::is_object)?;
        item["status"] = "incomplete".into();
        if self.is_message && !self.text.is_empty() {
            item["content"] = json!([part(&self.text)]);
        }
        Some(item)
    }
}

impl StreamWriter for ResponsesWriter {
    fn sent(&mut self, frame: &[u8], _choices: &[Named]) {
        each_event(frame, |event| self.see(event));
    }

    fn text(&mut self, choice: u64, field: Field, text: &str) -> Vec<u8> {
        let (name, part) = match field {
            Field::Content => ("response.output_text.delta", 0),
            Field::ToolInput => ("response.custom_tool_call_input.delta", 0),
            Field::Part(part) => ("response.output_text.delta", part),
            Field::Refusal => ("response.refusal.delta", 0),
            Field::ToolArguments(_) => ("response.function_call_arguments.delta", 0),
            _ => return Vec::new(),
        };
        // A part of a call that has not begun for the client cannot be shown.
        let is_call = matches!(field, Field::ToolArguments(_) | Field::ToolInput);
        if is_call && !self.items.contains_key(&choice) {
            return Vec::new();
        }
        if field == Field::Content {
            self.add_text(choice, text);
        }
        let id = self.id(choice);
        let mut data = json!({"item_id": id, "output_index": choice, "delta": text});
        if name == "response.output_text.delta" {
            (data["content_index"], data["logprobs"]) = (part.into(), json!([]));
        }
        self.frame(name, data)
    }

    fn end(&mut self, choice: u64, answer: &OwnAnswer<'_>) -> Vec<u8> {
        let response = self.response.take();
        let response = response.and_then(|response| serde_json::from_str(&response).ok());
        let Some(mut response) = response.filter(Value::is_object) else {
            return own::events(answer);
        };
        let mut out = Vec::new();
        self.end_others(choice, &mut out);
        let index = self.open_message(choice, answer, &mut out);
        out.extend(self.text(index, Field::Content, answer.text));
        let (id, said) = self
            .items
            .get(&index)
            .map(|item| (item.id.clone(), item.text.clone()))
            .unwrap_or_default();
        let place = json!({"item_id": id, "output_index": index, "content_index": 0});
        let mut data = place.clone();
        (data["text"], data["logprobs"]) = (said.as_str().into(), json!([]));
        out.extend(self.frame("response.output_text.done", data));
        let mut data = place;
        data["part"] = part(&said);
        out.extend(self.frame("response.content_part.done", data));
        let mut item = item_of(answer, "completed", vec![part(&said)]);
        item["id"] = id.into();
        let data = json!({"output_index": index, "item": item});
        out.extend(self.frame("response.output_item.done", data));
        if let Some(ended) = self.items.get_mut(&index) {
            ended.done = Some(item.to_string());
        }
        let items = self.items.values();
        let items = items.filter_map(|item| serde_json::from_str(item.done.as_deref()?).ok());
        response["output"] = items.collect::<Vec<Value>>().into();
        response["status"] = "completed".into();
        response["usage"] = own::no_usage();
        out.extend(self.frame("response.completed", json!({"response": response})));
        out
    }
}

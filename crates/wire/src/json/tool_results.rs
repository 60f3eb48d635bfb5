//! The results of tools that are new in a request: those of the assistant's last answer, so that a history which grows
//! from call to call does not repeat them. They are parts of a record, beside its text.
//!
//! Only conversations with results come here. Each is walked three times at most, however many results and calls it
//! has.

use super::content::{Piece, each_piece_of};
use super::name::{is_exactly, is_in_any_case};
use super::request_shape::Entries;
use super::text::Joined;
use super::view::View;
use monitor_model::{LONGEST_TOOL_NAME, MOST_TOOL_BYTES, MOST_TOOL_PARTS, ToolPart, ToolParts};
use std::collections::{HashMap, VecDeque};

/// Some programs put each result right behind its call, and nothing tells the calls of one answer from those of several
/// then. So many are taken for one answer.
const MOST_PAIRS: usize = 8;

/// Adds the results of a list of messages or items, with the names of their tools where the list tells them.
pub(super) fn new_results(messages: View<'_>, entries: Entries, parts: &mut ToolParts) {
    let answer = LastAnswer::of(messages, entries);
    let free = MOST_TOOL_PARTS.saturating_sub(parts.parts.len());
    let (mut results, left_out) = answer.results(messages, entries, free);
    answer.set_names(&mut results, messages, entries);
    for result in results {
        parts.push(result.into_part(entries), MOST_TOOL_BYTES);
    }
    parts.omitted = parts.omitted.saturating_add(left_out);
}

/// What the members of a message or an item say.
#[derive(Default)]
struct Members<'a> {
    is_assistant: bool,
    /// In some APIs, results stand among the blocks of other messages.
    is_tool: bool,
    is_call: bool,
    /// Of an item.
    kind: Option<View<'a>>,
    call_id: Option<View<'a>>,
    /// Its own identifier, which that of the call is where it has none.
    id: Option<View<'a>>,
    name: Option<View<'a>>,
    /// Of a message: its blocks, or its calls.
    content: Option<View<'a>>,
    calls: Option<View<'a>>,
}

/// Reads one member.
fn read<'a>(entries: Entries) -> impl Fn(&mut Members<'a>, &[u8], View<'a>) + Copy {
    move |members, name, value| {
        if is_in_any_case(name, "role") {
            return members.add_role(value);
        }
        let place = match entries {
            Entries::Items if is_in_any_case(name, "type") => {
                members.add_type(value);
                &mut members.kind
            }
            Entries::Items if is_exactly(name, "call_id") => &mut members.call_id,
            Entries::Items if is_exactly(name, "id") => &mut members.id,
            Entries::Items if is_exactly(name, "name") => &mut members.name,
            Entries::Blocks if is_exactly(name, "content") => &mut members.content,
            Entries::Messages if is_exactly(name, "tool_calls") => &mut members.calls,
            _ => return,
        };
        *place = Some(value);
    }
}

impl<'a> Members<'a> {
    fn add_role(&mut self, role: View<'_>) {
        match role.text().as_deref() {
            Some("assistant" | "model") => self.is_assistant = true,
            Some("tool" | "function") => self.is_tool = true,
            _ => {}
        }
    }

    /// An item says by its type who speaks.
    fn add_type(&mut self, kind: View<'_>) {
        match kind.text().as_deref() {
            Some("reasoning" | "compaction") => self.is_assistant = true,
            Some(kind) if kind.ends_with("_output") => self.is_tool = true,
            Some(kind) if kind.ends_with("_call") || kind.ends_with("_request") => {
                (self.is_assistant, self.is_call) = (true, true);
            }
            _ => {}
        }
    }

    /// Hands over the identifier and the name of each call.
    fn each_call(&self, entries: Entries, mut tell: impl FnMut(View<'a>, String)) {
        let mut tell = |id: Option<View<'a>>, name: Option<String>| {
            if let (Some(id), Some(name)) = (id, name) {
                tell(id, name);
            }
        };
        match entries {
            Entries::Items => {
                let kind = || text(self.kind?)?.strip_suffix("_call").map(str::to_owned);
                tell(self.call_id, self.name.and_then(text).or_else(kind));
            }
            Entries::Messages | Entries::Blocks => {
                let calls = self.calls.or(self.content);
                let calls = calls.into_iter();
                calls.for_each(|calls| {
                    calls.fold_objects(0, Call::read, |_, call: Option<Call<'a>>| {
                        let call = call.unwrap_or_default();
                        tell(call.id, call.name.and_then(text));
                    });
                });
            }
            Entries::Prompts => {}
        }
    }
}

/// A call in a list of calls, or among blocks.
#[derive(Default)]
struct Call<'a> {
    id: Option<View<'a>>,
    name: Option<View<'a>>,
}

impl<'a> Call<'a> {
    fn read(&mut self, name: &[u8], value: View<'a>) {
        if is_exactly(name, "id") {
            self.id = Some(value);
        } else if is_exactly(name, "name") {
            self.name = Some(value);
        } else if is_exactly(name, "function") || is_exactly(name, "custom") {
            self.name = value.named("name").last().or(self.name);
        }
    }
}

/// Where the assistant's last answer stands, as bytes of the list.
struct LastAnswer {
    start: usize,
    /// Where it goes on behind its results: the beginning of an answer that the model is to complete.
    end: usize,
}

/// What the assistant says without anybody between.
struct Run<'a> {
    start: usize,
    items: usize,
    calls: usize,
    /// Of the last call.
    call_id: Option<View<'a>>,
}

/// The walk that looks for the last answer.
#[derive(Default)]
struct Search<'a> {
    start: usize,
    /// Nothing has come behind it.
    run: Option<Run<'a>>,
    /// Where the pairs of a call and its result begin, if nothing else came since the first of them.
    pairs: VecDeque<usize>,
}

impl<'a> Search<'a> {
    fn add(&mut self, start: usize, members: &Members<'a>) {
        if members.is_assistant {
            let run = self.run.get_or_insert(Run {
                start,
                items: 0,
                calls: 0,
                call_id: None,
            });
            run.items += 1;
            if members.is_call {
                run.calls += 1;
                run.call_id = members.call_id;
            }
            return;
        }
        let Some(run) = self.run.take() else {
            return self.pairs.clear();
        };
        let call_id = members.call_id.or(members.id);
        let is_pair = members.is_tool && run.calls == 1 && is_same(run.call_id, call_id);
        if !is_pair || run.items > 1 {
            self.pairs.clear();
        }
        if is_pair {
            self.pairs.push_back(run.start);
        }
        if self.pairs.len() > MOST_PAIRS {
            self.pairs.pop_front();
        }
        self.start = self.pairs.front().copied().unwrap_or(run.start);
    }
}

impl LastAnswer {
    fn of(messages: View<'_>, entries: Entries) -> Self {
        let mut search = Search::default();
        let begin = messages.span().start;
        messages.fold_objects(0, read(entries), |element, members| {
            if let Some(members) = members {
                search.add(element.span().start - begin, &members);
            }
        });
        Self {
            start: search.start,
            end: search.run.map_or(usize::MAX, |run| run.start),
        }
    }

    /// Its results, and how many there are beyond `most`.
    fn results<'a>(
        &self,
        messages: View<'a>,
        entries: Entries,
        most: usize,
    ) -> (Vec<NewResult<'a>>, u32) {
        let (mut results, mut left_out) = (Vec::new(), 0_u32);
        let mut take = |result| match results.len() < most {
            true => results.push(NewResult::new(result, entries)),
            false => left_out = left_out.saturating_add(1),
        };
        messages.fold_objects(self.start, read(entries), |element, members| {
            let members: Members<'a> = members.unwrap_or_default();
            if members.is_assistant {
                return;
            }
            if let Some(blocks) = members.content {
                blocks.fold_objects(0, read_block, |block, is_result| {
                    if is_result == Some(true) {
                        take(block);
                    }
                });
            } else if members.is_tool && entries != Entries::Blocks {
                take(element);
            }
        });
        (results, left_out)
    }

    /// Sets the names that results do not tell themselves: those of the calls before them.
    fn set_names(&self, results: &mut [NewResult<'_>], messages: View<'_>, entries: Entries) {
        let unnamed = results.iter().filter(|result| result.may_be_named());
        let names = unnamed.map(|result| (result.call_id.clone(), String::new()));
        let mut names: HashMap<String, String> = names.collect();
        if names.is_empty() {
            return;
        }
        let begin = messages.span().start;
        let mut results = results.iter_mut().peekable();
        messages.fold_objects(self.start, read(entries), |element, members| {
            let members: Members<'_> = members.unwrap_or_default();
            if members.is_assistant && element.span().start - begin < self.end {
                members.each_call(entries, |id, name| {
                    if let Some(wanted) = id.text().and_then(|id| names.get_mut(&*id)) {
                        *wanted = name;
                    }
                });
            }
            let end = element.span().end;
            while let Some(result) = results.next_if(|result| result.value.span().start < end) {
                if let Some(name) = names.get(&result.call_id).filter(|_| result.may_be_named()) {
                    result.name.clone_from(name);
                }
            }
        });
    }
}

/// Whether the last type of a block is that of a result.
fn read_block(is_result: &mut bool, name: &[u8], value: View<'_>) {
    if is_exactly(name, "type") {
        *is_result = text(value).is_some_and(|kind| kind.ends_with("tool_result"));
    }
}

/// A result of the assistant's last answer.
struct NewResult<'a> {
    value: View<'a>,
    call_id: String,
    name: String,
}

impl<'a> NewResult<'a> {
    fn new(value: View<'a>, entries: Entries) -> Self {
        let member = |name| value.named(name).last().and_then(text);
        let call_id = match entries {
            Entries::Messages => member("tool_call_id"),
            Entries::Blocks => member("tool_use_id"),
            // The output of a local shell has the identifier of its call as its own.
            Entries::Items | Entries::Prompts => member("call_id").or_else(|| member("id")),
        };
        Self {
            value,
            call_id: call_id.unwrap_or_default(),
            name: member("name").unwrap_or_default(),
        }
    }

    /// Whether its call may have the name. Identifiers that are not kept whole are not looked for.
    fn may_be_named(&self) -> bool {
        let has_id = !self.call_id.is_empty() && self.call_id.len() <= LONGEST_TOOL_NAME;
        self.name.is_empty() && has_id
    }

    fn into_part(self, entries: Entries) -> ToolPart {
        let content = match entries {
            Entries::Items => "output",
            Entries::Messages | Entries::Blocks | Entries::Prompts => "content",
        };
        let mut joined = Joined::default();
        for content in self.value.named(content) {
            each_piece_of(content, &mut |piece: Piece<'_>| {
                if let Some(value) = piece.value() {
                    joined.push(value.text());
                }
            });
        }
        ToolPart {
            call_id: self.call_id,
            name: self.name,
            text: joined.into_text(),
            is_cut: false,
        }
    }
}

fn is_same(one: Option<View<'_>>, other: Option<View<'_>>) -> bool {
    one.zip(other)
        .is_some_and(|(one, other)| one.text().is_some() && one.text() == other.text())
}

fn text(value: View<'_>) -> Option<String> {
    Some(value.text()?.into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

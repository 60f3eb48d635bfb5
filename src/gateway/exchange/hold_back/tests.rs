//! CONTRACT 41 on the filter alone, with chunks cut anywhere; `tests/gateway/hold_back.rs` tests it through
//! the binary.
#![allow(clippy::unwrap_used)]

use super::HoldBack;
use super::pending_frames::PendingFrames;
use super::readers::Readers;
use super::text_window::{Detectors, TextWindow};
use crate::gateway::exchange::answer::{Stop, StreamFilter};
use crate::gateway::exchange::capture::Layout;
use crate::gateway::inspector::{Find, Inspector};
use crate::observe::Metrics;
use bytes::Bytes;
use monitor_model::{AppMode, OnBackendFailure, PatternSet, Policy};
use monitor_wire::protocol::Chat;
use monitor_wire::sse::{Accumulator, Frames, Parser};
use serde_json::{Value, json};
use std::sync::Arc;

const PHRASE: &str = "No.";

/// Finds the word "secret" where "my" stands in the twenty bytes before it.
struct Words;

impl Inspector for Words {
    fn find(&self, text: &str, _: &[usize], _: PatternSet) -> Vec<Find> {
        let ended = |end: usize| !text[end..].starts_with(char::is_alphabetic);
        let named =
            |at: usize| text[text.floor_char_boundary(at.saturating_sub(20))..at].contains("my");
        let places = text
            .match_indices("secret")
            .map(|(at, word)| (at, at + word.len()));
        let found = places.filter(|(start, end)| named(*start) && ended(*end));
        let kind = "EMAILS";
        found
            .map(|(start, end)| Find { start, end, kind })
            .collect()
    }

    fn finds_across(&self, _: &str, _: &[usize]) -> bool {
        true
    }

    fn stable_until(&self, text: &str, _: PatternSet) -> usize {
        let begun = (1..=6)
            .rev()
            .find(|length| text.ends_with(&"secret"[..*length]));
        text.len() - begun.unwrap_or(0)
    }
}

/// Settles nothing.
pub(super) struct Never;

impl Inspector for Never {
    fn find(&self, text: &str, breaks: &[usize], patterns: PatternSet) -> Vec<Find> {
        Words.find(text, breaks, patterns)
    }

    fn finds_across(&self, _: &str, _: &[usize]) -> bool {
        true
    }

    fn stable_until(&self, _: &str, _: PatternSet) -> usize {
        0
    }
}

pub(super) fn detectors(inspector: impl Inspector + 'static) -> Detectors {
    Detectors {
        inspector: Arc::new(inspector),
        patterns: PatternSet::local(),
    }
}

fn held_back(on_backend_failure: OnBackendFailure) -> HoldBack {
    let mut policy = Policy::new(AppMode::Sync, PHRASE);
    policy.on_backend_failure = on_backend_failure;
    HoldBack {
        protocol: &Chat,
        model: "m".into(),
        policy: Arc::new(policy),
        metrics: Arc::new(Metrics::new().unwrap()),
        detectors: detectors(Words),
        choices: 3,
        frames: Frames::new(2000),
        has_begun: false,
        readers: Readers::of(&Chat),
        pending: PendingFrames::new(&Chat),
        passes: false,
        is_unchecked: false,
        stop: None,
    }
}

/// What a client gets of a stream that comes in these chunks.
pub(super) fn relayed(chunks: &[&[u8]]) -> (Vec<u8>, Option<Stop>) {
    let mut held = held_back(OnBackendFailure::Closed);
    let mut sent = Vec::new();
    for chunk in chunks {
        let out = held.push(Bytes::copy_from_slice(chunk));
        sent.extend_from_slice(&out.bytes);
        if out.stop.is_some() {
            return (sent, out.stop);
        }
    }
    let out = held.finish(true);
    sent.extend_from_slice(&out.bytes);
    (sent, out.stop)
}

pub(super) fn event(choices: Value) -> String {
    let chunk = json!({"id": "c-1", "model": "m", "created": 1, "choices": choices});
    format!("data: {chunk}\n\n")
}

pub(super) fn delta(choice: u64, text: &str) -> String {
    event(json!([{"index": choice, "delta": {"content": text}}]))
}

fn text_of(stream: &[u8]) -> String {
    let (mut parser, mut text) = (Parser::new(1 << 20), Accumulator::new(1 << 20));
    parser.push(stream, |event| text.push(event.data));
    assert_eq!(text.skipped(), 0);
    text.text()
}

/// Numbers that come in the same order in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// A text in pieces of up to `longest` characters.
    fn pieces(&mut self, text: &str, longest: usize) -> Vec<String> {
        let mut chars = text.chars().peekable();
        let mut pieces = Vec::new();
        while chars.peek().is_some() {
            let length = 1 + self.below(longest);
            pieces.push(chars.by_ref().take(length).collect());
        }
        pieces
    }
}

#[test]
fn a_clean_stream_is_the_same_to_the_byte_in_every_cut() {
    let tool = json!([{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "sec", "arguments": "ret"}}]}}]);
    let stream = [
        ": hello\r\n\r\n".to_owned(),
        delta(0, "a sec"),
        delta(1, "my secr").replace('\n', "\r\n"),
        ": keepalive\n\n".to_owned(),
        delta(0, "ret Ж"),
        event(tool),
        "event: message\ndata: {\"choices\":[{\"index\":1,\ndata: \"delta\":{\"content\":\"etary\"}}]}\r\r".to_owned(),
        event(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}])),
        "data: {\"choices\":[],\"usage\":{\"total_tokens\":1e400}}\n\n".to_owned(),
        "data: [DONE]\n\n".to_owned(),
    ];
    let stream = stream.concat();
    let bytes = stream.as_bytes();
    for first in 0..=bytes.len() {
        for second in (first..=bytes.len()).step_by(31) {
            let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            let (sent, stop) = relayed(&parts);
            assert!(sent == bytes && stop.is_none(), "cut at {first}, {second}");
        }
    }
}

#[test]
fn the_same_text_in_any_events_in_any_chunks_ends_at_the_same_place() {
    let mut random = Random(7);
    for before in [
        "",
        "my ",
        "Это my ",
        "my 😀 secre s my ",
        "so long my secretary, my ",
    ] {
        let text = format!("{before}secret, and my secret again");
        let found = Words
            .find(&text, &[], PatternSet::local())
            .first()
            .map(|find| find.start);
        let expected = match found {
            Some(start) => format!("{}{PHRASE}", &text[..start]),
            None => text.clone(),
        };
        for _ in 0..200 {
            let pieces = random.pieces(&text, 9);
            let events = pieces.iter().map(|piece| delta(0, piece));
            let stream = events.collect::<String>() + "data: [DONE]\n\n";
            let size = 1 + random.below(300);
            let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            let (sent, stop) = relayed(&chunks);
            assert_eq!(text_of(&sent), expected, "{pieces:?} in chunks of {size}");
            assert_eq!(stop, found.map(|_| Stop::Flagged));
            let end = "\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n";
            assert_eq!(sent.ends_with(end.as_bytes()), found.is_some());
        }
    }
}

#[test]
fn text_that_cannot_be_part_of_a_finding_passes_in_the_same_push() {
    let mut held = held_back(OnBackendFailure::Open);
    for text in ["one ", "two", ", thr", "ee", "my secretary "] {
        let frame = delta(0, text);
        assert_eq!(held.push(frame.clone().into()).bytes, frame);
    }
    let (waits, ends) = (delta(0, "a sec"), delta(0, "ond"));
    assert_eq!(held.push(waits.clone().into()).bytes, "");
    let again = delta(1, "of the other choice");
    assert_eq!(
        held.push(again.clone().into()).bytes,
        "",
        "frames keep their order"
    );
    let together = held.push(ends.clone().into()).bytes;
    assert_eq!(together, waits + &again + &ends);
}

#[test]
fn frames_without_text_do_not_wait_without_a_bound() {
    let mut held = held_back(OnBackendFailure::Open);
    assert_eq!(held.push(delta(0, "a sec").into()).bytes, "");
    let comment = format!(": {}\n\n", "x".repeat(1_000));
    let mut sent = 0;
    while held.push(comment.clone().into()).bytes.is_empty() {
        sent += comment.len();
        assert!(sent < 5 << 20);
    }
}

#[test]
fn a_finding_ends_every_choice_and_shows_nothing_of_another_that_may_still_change() {
    let stream = [
        delta(0, "zero"),
        delta(1, "my sec"),
        delta(2, "two"),
        event(json!([{"index": 2, "delta": {}, "finish_reason": "stop"}])),
        delta(0, " my secret."),
        delta(2, "never"),
    ];
    let (sent, stop) = relayed(&[stream.concat().as_bytes()]);
    let sent = String::from_utf8(sent).unwrap();
    assert_eq!(stop, Some(Stop::Flagged));
    assert_eq!(
        text_of(sent.as_bytes()),
        format!("zero my {PHRASE}\nmy \ntwo")
    );
    let ended = |choice| {
        format!("{{\"index\":{choice},\"delta\":{{}},\"finish_reason\":\"content_filter\"}}")
    };
    assert!(
        sent.contains(&ended(0)) && sent.contains(&ended(1)),
        "{sent}"
    );
    assert_eq!(sent.matches("c-1").count(), sent.matches("data: {").count());
    assert_eq!(sent.matches("\"role\":\"assistant\"").count(), 2, "{sent}");
}

#[test]
fn the_end_of_a_text_decides_what_was_open() {
    for end in ["data: [DONE]\n\n", "", "data: [DONE]"] {
        let stream = delta(0, "my secret") + end;
        let (sent, stop) = relayed(&[stream.as_bytes()]);
        assert_eq!(
            (text_of(&sent), stop),
            (format!("my {PHRASE}"), Some(Stop::Flagged))
        );
        let stream = delta(0, "a secret") + end;
        assert_eq!(relayed(&[stream.as_bytes()]), (stream.into_bytes(), None));
    }
}

#[test]
fn a_stream_that_broke_off_loses_its_incomplete_frame_alone() {
    let mut held = held_back(OnBackendFailure::Closed);
    let stream = delta(0, "a sec");
    let cut = format!("{stream}data: {{\"choices\":[{{\"delta\":{{\"content\":\"my secr");
    assert_eq!(held.push(cut.into()).bytes, "");
    let out = held.finish(false);
    assert_eq!((out.bytes, out.stop), (stream.into(), None));
}

#[test]
fn an_unreadable_event_passes_and_is_marked_or_ends_the_stream() {
    let clean = delta(0, "one ");
    let large = delta(0, &"x".repeat(3000));
    for odd in [
        "data: nonsense\n\n",
        &large,
        "data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n",
    ] {
        let stream = format!("{clean}{odd}{clean}");
        for size in [1, 50, 10_000] {
            let mut held = held_back(OnBackendFailure::Open);
            let chunks = stream.as_bytes().chunks(size);
            let mut sent: Vec<u8> = chunks
                .flat_map(|chunk| held.push(Bytes::copy_from_slice(chunk)).bytes)
                .collect();
            sent.extend(held.finish(true).bytes);
            assert!(
                sent == stream.as_bytes() && held.passed_unchecked(),
                "{odd} by {size}"
            );
            let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            let (sent, stop) = relayed(&chunks);
            assert_eq!(
                (sent, stop),
                (clean.clone().into_bytes(), Some(Stop::Unreadable))
            );
        }
    }
}

#[test]
fn a_compressed_stream_is_unreadable_and_an_answer_that_is_no_stream_passes() {
    let layout = |event_stream, encoded| Layout {
        event_stream,
        encoded,
        has_other_charset: false,
    };
    let mut open = held_back(OnBackendFailure::Open);
    assert!(open.start(layout(true, true)).is_ok() && open.passed_unchecked());
    assert_eq!(open.push("my secret.".into()).bytes, "my secret.");
    let mut closed = held_back(OnBackendFailure::Closed);
    assert!(closed.start(layout(true, true)).is_err());
    for encoded in [false, true] {
        let mut json = held_back(OnBackendFailure::Closed);
        assert!(json.start(layout(false, encoded)).is_ok() && !json.passed_unchecked());
        assert_eq!(json.push("my secret.".into()).bytes, "my secret.");
        assert_eq!(json.finish(true).bytes, "");
    }
}

/// How far a text is shown after each of its pieces, by the place the piece ends at.
fn shown(pieces: &[String], detectors: &Detectors) -> Vec<(usize, usize)> {
    let mut window = TextWindow::default();
    let mut places = Vec::new();
    for piece in pieces {
        window.push(piece, detectors);
        places.push((window.end(), window.visible()));
    }
    window.finish(detectors);
    places.push((window.end(), window.visible()));
    places
}

#[test]
fn a_label_applies_to_its_word_wherever_the_blocks_of_a_text_begin() {
    let detectors = detectors(Words);
    for filler in ["x", "Ж", "😀"] {
        for place in (900..1200).chain(2000..2100) {
            let lead = filler.repeat(place / filler.len());
            let text = format!("{lead} my own secret word {}", filler.repeat(800));
            let expected = Words.find(&text, &[], PatternSet::local())[0].start;
            let places = shown(&[text], &detectors);
            assert_eq!(places[0].1, expected, "{filler} {place}");
        }
    }
}

#[test]
fn a_text_that_never_settles_is_inspected_at_places_of_its_own() {
    let detectors = detectors(Never);
    let mut random = Random(3);
    let quiet = "aЖ secret ".repeat(20_000);
    let mut loud = quiet.clone();
    loud.insert_str(loud.floor_char_boundary(90_000), "my ");
    for text in [&quiet, &loud] {
        let whole: Vec<_> = shown(std::slice::from_ref(text), &detectors);
        let (end, last) = *whole.last().unwrap();
        assert_eq!(end == last, text == &quiet);
        for longest in [50, 3000, 100_000] {
            let pieces = random.pieces(text, longest);
            let places = shown(&pieces, &detectors);
            assert_eq!(places.last(), whole.last());
            let held = places.iter().map(|(end, shown)| end - shown).max();
            assert!(text == &loud || held <= Some((64 << 10) + 2048), "{held:?}");
        }
    }
}

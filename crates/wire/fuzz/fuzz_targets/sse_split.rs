//! Event streams: however the bytes are cut, the same events, texts and frames come out, and no byte is lost.
//! The first bytes of the input say where to cut and how large a frame may be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_wire::json::{ArgumentsDecoder, unescape};
use monitor_wire::sse::pieces::{self, Field, Reading};
use monitor_wire::sse::{Accumulator, FrameBoundary, Frames, Parser, Template};

/// The stream cut behind as many bytes as each of `cuts` says, again and again.
fn cut<'a>(stream: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = stream;
    for cut in cuts.iter().cycle() {
        let at = usize::from(*cut).clamp(1, rest.len().max(1));
        if rest.is_empty() {
            break;
        }
        let (part, behind) = rest.split_at(at);
        parts.push(part);
        rest = behind;
    }
    parts
}

#[derive(Debug, PartialEq)]
struct Events {
    events: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    dropped: u64,
    text: String,
    /// Every text, where breaks between parts are, and whether some is unreadable.
    checked: (String, Vec<usize>, bool),
    is_done: bool,
    is_at_boundary: bool,
}

fn events(parts: &[&[u8]], bound: usize) -> Events {
    let (mut parser, mut boundary) = (Parser::new(bound), FrameBoundary::new());
    let (mut answer, mut every) = (Accumulator::new(bound), Accumulator::of_every_text(bound));
    let mut events = Vec::new();
    let mut take = |event: monitor_wire::sse::Event<'_>| {
        assert!(event.data.len() <= bound, "a frame over its bound");
        answer.push(event.data);
        every.push(event.data);
        events.push((event.data.to_vec(), event.name.map(<[u8]>::to_vec)));
    };
    for part in parts {
        parser.push(part, &mut take);
        boundary.push(part);
    }
    parser.finish(&mut take);
    answer.close();
    let checked = every.checked_text().expect("it is wanted");
    assert!(every.kept() <= bound && checked.part_breaks.len() <= 4_096);
    Events {
        checked: (checked.text, checked.part_breaks, checked.has_unreadable),
        dropped: parser.dropped_frames(),
        text: answer.text(),
        is_done: answer.is_done(),
        is_at_boundary: boundary.is_at_boundary(),
        events,
    }
}

/// The bytes of all frames in their order, and the texts of those that are whole.
fn frames(parts: &[&[u8]], bound: usize) -> (Vec<u8>, Vec<String>) {
    let mut frames = Frames::new(bound);
    let (mut bytes, mut texts) = (Vec::new(), Vec::new());
    for part in parts {
        frames.push(part, |frame| {
            bytes.extend_from_slice(frame.bytes);
            if frame.is_whole {
                texts.extend(texts_of(frame.bytes));
            }
        });
    }
    bytes.extend(frames.finish().unwrap_or_default());
    (bytes, texts)
}

fn texts_of(frame: &[u8]) -> Vec<String> {
    let Reading::Said(said) = pieces::read(frame) else {
        return Vec::new();
    };
    let template = Template::of(frame);
    let check = |piece: pieces::Piece| {
        let token = &frame[piece.span.clone()];
        assert!(token.starts_with(b"\"") && token.ends_with(b"\""));
        assert_eq!(unescape(token), piece.text);
        if matches!(piece.field, Field::Other(_)) {
            // Nothing is written in the place of a text whose form is not known.
            return piece.text;
        }
        // What the gateway writes in its place is read as the same text.
        let written = template.text(piece.choice, piece.field, &piece.text);
        match pieces::read(&written) {
            Reading::Said(said) => assert!(said.pieces.iter().any(|own| own.text == piece.text)),
            other => panic!("{other:?}"),
        }
        piece.text
    };
    said.pieces.into_iter().map(check).collect()
}

/// The escapes of arguments that come in pieces, of which none ends inside a character.
fn arguments(parts: &[&[u8]]) -> String {
    let (mut decoder, mut text, mut rest) =
        (ArgumentsDecoder::default(), String::new(), Vec::new());
    for part in parts {
        rest.extend_from_slice(part);
        let end = match std::str::from_utf8(&rest) {
            Ok(whole) => whole.len(),
            Err(error) => error.valid_up_to(),
        };
        let begun = rest.split_off(end);
        text += &decoder.push(&String::from_utf8_lossy(&rest));
        rest = begun;
    }
    text + &decoder.finish()
}

fuzz_target!(|input: &[u8]| {
    let [bound, cuts @ ..] = input else { return };
    let (cuts, stream) = cuts.split_at(cuts.len().min(4));
    if cuts.is_empty() {
        return;
    }
    let bound = usize::from(*bound) * 16 + 8;
    let whole = [stream];
    let parts = cut(stream, cuts);
    assert_eq!(events(&whole, bound), events(&parts, bound));
    if std::str::from_utf8(stream).is_ok() {
        assert_eq!(arguments(&whole), arguments(&parts));
    }
    let (bytes, texts) = frames(&whole, 1 << 20);
    assert_eq!(bytes, stream);
    let (cut_bytes, cut_texts) = frames(&parts, 1 << 20);
    assert_eq!(cut_bytes, stream);
    assert_eq!(texts, cut_texts);
    assert_eq!(frames(&parts, bound).0, stream);
});

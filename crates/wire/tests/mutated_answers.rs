//! Whole answers and streams with a few wrong bytes: the short form of the fuzz targets `json_texts`, `replay` and
//! `sse_split`, over fixed seeds.
#![allow(clippy::unwrap_used)]

use monitor_wire::json::{checked_answer, scan};
use monitor_wire::sse::{Accumulator, NotReplayed, Parser, replay};

const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":["a",{"type":"text","text":"b\n"}],"thinking":"t","tool_calls":[{"index":1,"type":"custom","custom":{"name":"f","input":"{\"a\":\"\\u0034\"}"}}]},"finish_reason":"stop"},{"text":"c"}],"usage":{"total_tokens":3}}"#;

const STREAM: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[\"a\",\"b\"],\"thinking\":\"t\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\",\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\r\n\r\ndata: [DONE]\n\n";

/// A small generator, so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// The text with some bytes replaced, left out or repeated.
    fn mutated(&mut self, text: &str) -> Vec<u8> {
        const BYTES: &[u8] = b"{}[]\",:\\u0n7 \n\rax\xff";
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..self.roll(4) {
            let at = self.roll(bytes.len());
            match self.roll(3) {
                0 => bytes[at] = BYTES[self.roll(BYTES.len())],
                1 => drop(bytes.remove(at)),
                _ => {
                    let end = (at + self.roll(40)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        bytes
    }
}

#[test]
fn a_mutated_answer_is_checked_and_replayed_within_its_bounds() {
    let mut dice = Dice(15);
    let mut replayed = 0;
    for _ in 0..20_000 {
        let body = dice.mutated(ANSWER);
        let checked = checked_answer(&body);
        assert_eq!(checked.is_some(), scan(&body).is_ok());
        if let Some(checked) = checked {
            // Arguments that are no JSON are read in two forms.
            assert!(checked.text.len() <= 2 * body.len());
            let mut breaks = checked.part_breaks.iter();
            assert!(breaks.all(|place| checked.text.as_bytes()[*place] == b'\n'));
        }
        let limit = dice.roll(2_000);
        match (
            replay(&body, true, u64::MAX, 1 << 20),
            replay(&body, true, u64::MAX, limit),
        ) {
            (Ok(whole), Ok(stream)) => assert!(whole == stream && stream.len() <= limit),
            (Ok(whole), Err(error)) => {
                assert!(whole.len() > limit && error == NotReplayed::TooLarge);
                let (mut parser, mut said) = (Parser::new(1 << 20), Accumulator::new(1 << 20));
                parser.push(&whole, |event| {
                    assert!(event.data == b"[DONE]" || scan(event.data).is_ok());
                    said.push(event.data);
                });
                assert!(said.is_done());
                replayed += 1;
            }
            (Err(NotReplayed::Unreadable), Err(_)) => {}
            (whole, part) => panic!("{whole:?} and {part:?}"),
        }
    }
    assert!(replayed > 1_000, "{replayed}");
}

#[test]
fn a_mutated_stream_has_the_same_checked_text_in_every_cut() {
    let mut dice = Dice(42);
    let checked = |parts: &[&[u8]]| {
        let (mut parser, mut texts) = (Parser::new(4096), Accumulator::of_every_text(4096));
        for part in parts {
            parser.push(part, |event| texts.push(event.data));
        }
        parser.finish(|event| texts.push(event.data));
        let checked = texts.checked_text().unwrap();
        (
            checked.text,
            checked.part_breaks,
            checked.has_unreadable,
            texts.skipped(),
        )
    };
    for _ in 0..5_000 {
        let stream = dice.mutated(STREAM);
        let (first, second) = (dice.roll(stream.len()), dice.roll(stream.len()));
        let (first, second) = (first.min(second), first.max(second));
        let parts = [&stream[..first], &stream[first..second], &stream[second..]];
        assert_eq!(checked(&parts), checked(&[&stream]));
    }
}

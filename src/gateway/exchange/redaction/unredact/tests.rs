//! Unredaction compared with a simple model of it, with frames and chunks cut anywhere; and what must not change.
#![allow(clippy::unwrap_used)]

use super::{UnredactStream, answer, stream};
use crate::gateway::exchange::redaction::placeholders::{Issuer, Placeholders};
use monitor_wire::protocol::Chat;
use monitor_wire::sse::{Accumulator, Parser};
use serde_json::json;
use std::collections::HashSet;

/// `[EMAILS_1]` to `[EMAILS_11]`, and an IP.
fn issued() -> Placeholders {
    let mut issuer = Issuer::new(HashSet::new());
    issuer.issue("EMAILS", "\"a\\b\"@пример.рф");
    for number in 2..12 {
        issuer.issue("EMAILS", &format!("m{number}@example.com"));
    }
    issuer.issue("IP", "10.0.0.1");
    issuer.finish()
}

/// The expected text, computed without the code under test.
fn expected_text(text: &str) -> String {
    let mut text = text.replace("[EMAILS_1]", "\"a\\b\"@пример.рф");
    for number in 2..12 {
        text = text.replace(
            &format!("[EMAILS_{number}]"),
            &format!("m{number}@example.com"),
        );
    }
    text.replace("[IP_1]", "10.0.0.1")
}

/// The texts of both choices, and whether the whole stream was readable.
fn read_texts(stream: &[u8]) -> (String, bool) {
    let (mut parser, mut text) = (Parser::new(1 << 20), Accumulator::new(1 << 20));
    parser.push(stream, |event| text.push(event.data));
    (text.text(), text.skipped() == 0 && text.is_done())
}

/// A small generator of random numbers with a fixed seed, so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn text(&mut self) -> String {
        const WORDS: [&str; 12] = [
            "[EMAILS_1]",
            "[EMAILS_11]",
            "[IP_1]",
            "[IP_2]",
            "[",
            "[EMAILS_1",
            "]",
            "é",
            "😀",
            "\"\\\n",
            "[[EMAILS_2]]",
            "word ",
        ];
        (0..self.roll(9))
            .map(|_| WORDS[self.roll(WORDS.len())])
            .collect()
    }

    /// The text in pieces of any size.
    fn cut(&mut self, text: &str) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < letters.len() {
            let end = (at + 1 + self.roll(6)).min(letters.len());
            pieces.push(letters[at..end].iter().collect());
            at = end;
        }
        pieces
    }

    /// A JSON string, some of it escaped for no reason.
    fn token(&mut self, text: &str) -> String {
        let letters = text.chars().map(|letter| match self.roll(4) {
            0 => {
                let mut units = [0; 2];
                let units = letter.encode_utf16(&mut units).iter();
                units.map(|unit| format!("\\u{unit:04x}")).collect()
            }
            _ => {
                let token = json!(letter).to_string();
                token[1..token.len() - 1].to_owned()
            }
        });
        format!("\"{}\"", letters.collect::<String>())
    }

    fn frame(&mut self, choice: usize, piece: &str) -> String {
        let token = self.token(piece);
        let end = ["\n\n", "\r\n\r\n", "\r\r", "\n: x\n\n"][self.roll(4)];
        format!(
            "data: {{\"choices\" :[{{\"index\":{choice},\"delta\":{{\"content\":{token}}} }}]}}{end}"
        )
    }
}

#[test]
fn any_cut_into_pieces_and_chunks_gives_the_same_text() {
    let mut dice = Dice(77);
    for round in 0..3_000 {
        let texts = [dice.text(), dice.text()];
        let mut left = [dice.cut(&texts[0]), dice.cut(&texts[1])].map(|cut| cut.into_iter());
        let mut stream = String::new();
        while left.iter().any(|cut| cut.len() > 0) {
            let choice = dice.roll(2);
            if let Some(piece) = left[choice].next() {
                stream += &dice.frame(choice, &piece);
            }
        }
        if dice.roll(2) == 0 {
            stream +=
                "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        }
        stream += "data: [DONE]\n\n";
        let mut unredactor = UnredactStream::new(&Chat, issued(), 1 << 20);
        let (mut out, mut rest) = (Vec::new(), stream.as_bytes());
        while !rest.is_empty() {
            let (now, later) = rest.split_at((1 + dice.roll(90)).min(rest.len()));
            out.extend(unredactor.push(now));
            rest = later;
        }
        out.extend(unredactor.finish());
        let texts = texts.iter().map(|text| expected_text(text));
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        let (text, readable) = read_texts(&out);
        assert_eq!(text, texts.join("\n"), "{round}: {stream}");
        assert!(readable, "{round}");
        if !stream.contains('[') && !stream.contains("\\u005b") {
            assert_eq!(out, stream.as_bytes());
        }
    }
}

#[test]
fn a_frame_in_which_nothing_changes_passes_at_once_and_to_the_byte() {
    let mut unredactor = UnredactStream::new(&Chat, issued(), 1 << 20);
    for frame in [
        ": note\n\n",
        "data: {\"choices\":[{\"index\":0, \"delta\":{\"content\":\"[EMAILS_12] [x \\u005bIP_2] ]\"}}]}\r\n\r\n",
        "event: x\ndata: nonsense [IP_1]\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"[IP_1]\",\"arguments\":\"{}\"}}]}}]}\n\n",
        "data: {\"error\":{\"message\":\"[IP_1]\"}}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"[IP_1\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    ] {
        assert_eq!(
            String::from_utf8_lossy(&unredactor.push(frame.as_bytes())),
            frame
        );
    }
    assert_eq!(unredactor.unreadable(), 1);
    assert!(unredactor.push(b"data: [IP_1]").is_empty());
    assert_eq!(unredactor.finish(), b"data: [IP_1]");
}

#[test]
fn held_text_is_sent_before_what_follows_it() {
    let frame = |text: &str| {
        format!(
            "data: {{\"id\":\"c\",\"choices\":[{{\"index\":3,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    };
    let own = "data: {\"id\":\"c\",\"choices\":[{\"index\":3,\"delta\":{\"content\":\"[EMA\"},\"finish_reason\":null}]}\n\n";
    for next in [
        "data: [DONE]\n\n",
        "data: nonsense\n\n",
        "data: {\"choices\":[{\"index\":3,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n",
        "",
    ] {
        let mut unredactor = UnredactStream::new(&Chat, issued(), 1 << 20);
        let first = unredactor.push(frame("x[EMA").as_bytes());
        assert_eq!(first, frame("x").as_bytes());
        let mut out = unredactor.push(next.as_bytes());
        out.extend(unredactor.finish());
        assert_eq!(String::from_utf8_lossy(&out), format!("{own}{next}"));
    }
}

#[test]
fn a_complete_answer_gets_its_values_and_keeps_every_other_byte() {
    let body = r#"{ "n":1e400,"choices":[{"message":{"content":"\u005bIP_1] [IP_1] [IP_2]\n[EMAILS_1]","x":"[IP_1]",
            "tool_calls":[{"function":{"name":"[IP_1]","arguments":"{\"to\":\"[EMAILS_1]\"}"}}]}}],"id":"[IP_1]"}"#;
    let expected = r#"{ "n":1e400,"choices":[{"message":{"content":"10.0.0.1 10.0.0.1 [IP_2]\n\"a\\b\"@пример.рф","x":"[IP_1]",
            "tool_calls":[{"function":{"name":"[IP_1]","arguments":"{\"to\":\"\\\"a\\\\b\\\"@пример.рф\"}"}}]}}],"id":"[IP_1]"}"#;
    let out = answer(&Chat, &issued(), body.as_bytes()).unwrap();
    assert_eq!(String::from_utf8_lossy(&out), expected);
    assert_eq!(answer(&Chat, &issued(), b"[IP_1]x"), None);
    assert_eq!(stream(&Chat, &issued(), b"data: x\n\n"), None);
}

#[test]
fn arguments_are_unredacted_as_json_inside_a_string() {
    let frame = |text: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{}}}}}]}}}}]}}\n\n",
            json!(text)
        )
    };
    let arguments = "{\"to\":\"[EMAILS_1]\"}";
    for cut in 0..=arguments.len() {
        let whole = frame(&arguments[..cut]) + &frame(&arguments[cut..]) + "data: [DONE]\n\n";
        let out = stream(&Chat, &issued(), whole.as_bytes()).unwrap();
        let out = String::from_utf8(out).unwrap();
        let events = out.split("\n\n").filter_map(|event| {
            let data = event.strip_prefix("data: {")?;
            serde_json::from_str::<serde_json::Value>(&format!("{{{data}")).ok()
        });
        let arguments = events.filter_map(|event| {
            let call = &event["choices"][0]["delta"]["tool_calls"][0];
            Some(call["function"]["arguments"].as_str()?.to_owned())
        });
        let arguments: String = arguments.collect();
        let read: serde_json::Value = serde_json::from_str(&arguments).unwrap();
        assert_eq!(read["to"], "\"a\\b\"@пример.рф", "cut at {cut}");
    }
}

#[test]
fn a_frame_of_many_held_ends_is_read_once_for_its_members() {
    let choices = (0..500).map(|index| json!({"index": index, "delta": {"content": "["}}));
    let frame =
        json!({"id": "c-1", "model": "m".repeat(100_000), "choices": choices.collect::<Vec<_>>()});
    let frame = format!("data: {frame}\n\n");
    let mut stream = UnredactStream::new(&Chat, issued(), 1 << 20);
    let mut out = stream.push(frame.as_bytes());
    out.extend(stream.finish());
    assert_eq!((stream.templates, stream.unreadable()), (1, 0));
    // What is long does not come with each of them.
    assert!(
        out.len() < 2 * frame.len(),
        "{} of {}",
        out.len(),
        frame.len()
    );
    let expected = vec!["["; 500].join("\n");
    assert_eq!(
        read_texts(&[&out[..], b"data: [DONE]\n\n"].concat()),
        (expected, true)
    );
}

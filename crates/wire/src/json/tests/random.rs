//! The scanner against a second reader of JSON on mutated documents, and against panics.
//!
//! `serde_json` skips an ignored value with the same grammar as ours: any depth, any exponent, lone
//! surrogate escapes. It differs in one point: given bytes, it does not look whether ignored strings
//! are UTF-8. The comparison therefore hands it text, and expects bytes that are no text refused.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::json::{
    Request, RequestShape, Scan, answer_text, checked_answer, is_envelope, scan, unescape,
};
use serde::de::IgnoredAny;

/// xorshift64; a fixed seed gives the same documents in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn space(&mut self) -> &'static str {
        self.pick(&["", "", "", " ", "\n\t", "\r\n  "])
    }

    fn string(&mut self) -> String {
        const PIECES: &[&str] = &[
            "a",
            "stream",
            "messages",
            "content",
            "role",
            "user",
            "text",
            "type",
            "é",
            "я",
            "😀",
            " ",
            "\\n",
            "\\\"",
            "\\\\",
            "\\u0041",
            "\\ud83d\\ude00",
            "\\ud800",
            "{",
            "]",
            "0123456789012345678901234567890123456789",
        ];
        let body: String = (0..self.below(6)).map(|_| self.pick(PIECES)).collect();
        format!("\"{body}\"")
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => self
                .pick(&[
                    "0",
                    "-1",
                    "1e400",
                    "0.25E-7",
                    "12345678901234567890123",
                    "-0",
                ])
                .to_owned(),
            1 => self.pick(&["true", "false", "null"]).to_owned(),
            2..=5 => self.string(),
            6 | 7 => {
                let items: Vec<_> = (0..self.below(4)).map(|_| self.spaced(depth)).collect();
                format!("[{}{}]", self.space(), items.join(","))
            }
            _ => {
                let members: Vec<_> = (0..self.below(4))
                    .map(|_| {
                        format!(
                            "{}{}{}:{}",
                            self.space(),
                            self.string(),
                            self.space(),
                            self.spaced(depth)
                        )
                    })
                    .collect();
                format!("{{{}{}}}", self.space(), members.join(","))
            }
        }
    }

    fn spaced(&mut self, depth: usize) -> String {
        format!("{}{}{}", self.space(), self.value(depth - 1), self.space())
    }

    fn mutate(&mut self, body: &mut Vec<u8>) {
        const BYTES: &[u8] =
            b"{}[]\",:\\truefalsn0159.eE+-u \n\t\r\x00\x1f\x7f\x80\xc3\xed\xf4\xff";
        let place = self.below(body.len() + 1);
        let byte = BYTES[self.below(BYTES.len())];
        match self.below(5) {
            0 => body.insert(place, byte),
            1 if place < body.len() => body[place] = byte,
            2 if place < body.len() => drop(body.remove(place)),
            3 => body.truncate(place),
            _ => {
                let piece = body[place..(place + 5).min(body.len())].to_vec();
                let to = self.below(body.len() + 1);
                body.splice(to..to, piece);
            }
        }
    }
}

#[test]
fn the_scanner_agrees_with_a_second_reader_on_mutated_documents() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut verdicts = [0usize; 2];
    for _ in 0..60_000 {
        let mut body = random.spaced(6).into_bytes();
        for _ in 0..random.below(4) {
            random.mutate(&mut body);
        }
        let text = std::str::from_utf8(&body);
        let expected = text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        let found = scan(&body);
        assert_eq!(
            found.is_ok(),
            expected,
            "{:?}",
            String::from_utf8_lossy(&body)
        );
        verdicts[usize::from(expected)] += 1;
        if let Ok(found) = found {
            members_agree(&found, &body);
        }
    }
    assert!(verdicts.iter().all(|count| *count > 10_000), "{verdicts:?}");
}

fn members_agree(found: &Scan, body: &[u8]) {
    for member in found.members(body) {
        let key: Result<String, _> = serde_json::from_slice(&body[member.key.clone()]);
        // The second reader refuses to decode a lone surrogate; ours has a replacement for it.
        assert_eq!(
            key.unwrap_or_else(|_| unescape(&body[member.key.clone()]).into_owned()),
            unescape(&body[member.key])
        );
        assert!(serde_json::from_slice::<IgnoredAny>(&body[member.value]).is_ok());
    }
}

#[test]
fn no_bytes_make_a_reader_panic() {
    let seed = br#"{"messages":[{"role":"user","content":[{"type":"text","text":"a\ud83d\ude00"}]}],"stream":true,"metadata":{"request_id":"r"},"choices":[{"message":{"tool_calls":[{"function":{"name":"n"}}]}}],"error":{"message":"m"}}"#;
    let whole = scan(seed).unwrap();
    let mut random = Random(42);
    for _ in 0..20_000 {
        let mut body = seed.to_vec();
        for _ in 0..=random.below(3) {
            random.mutate(&mut body);
        }
        let _ = (answer_text(&body), is_envelope(&body), unescape(&body));
        let checked = checked_answer(&body);
        assert_eq!(checked.is_some(), scan(&body).is_ok());
        // A scan that belongs to other bytes is a mistake, but not one that may panic.
        let chat = Request::read(&RequestShape::CHAT, &body, &whole);
        let _ = (
            chat.prompt(&[]),
            chat.model(),
            chat.request_id(),
            chat.wants_stream(),
            chat.stream_true_spans(),
        );
    }
}

#[test]
fn every_level_keeps_its_own_kind_of_bracket() {
    let mut random = Random(7);
    for depth in [1usize, 2, 63, 64, 65, 127, 128, 129, 1000] {
        let kinds: Vec<bool> = (0..depth).map(|_| random.below(2) == 0).collect();
        let open: String = kinds
            .iter()
            .map(|object| if *object { "{\"a\":" } else { "[" })
            .collect();
        let close: Vec<char> = kinds
            .iter()
            .rev()
            .map(|object| if *object { '}' } else { ']' })
            .collect();
        let good = format!("{open}0{}", close.iter().collect::<String>());
        assert!(scan(good.as_bytes()).is_ok());
        for place in 0..depth {
            let mut wrong = close.clone();
            wrong[place] = if wrong[place] == '}' { ']' } else { '}' };
            let bad = format!("{open}0{}", wrong.iter().collect::<String>());
            assert!(
                scan(bad.as_bytes()).is_err(),
                "depth {depth}, place {place}"
            );
        }
    }
}

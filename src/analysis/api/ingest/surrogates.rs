//! Lone surrogate escapes: valid JSON (RFC 8259 section 8.2) that no Rust string can hold. Text cut inside
//! an emoji contains them, and has to be analyzed all the same.

const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Replaces every `\uD800` to `\uDFFF` without a partner by `\ufffd` in place; the length stays the same. In valid
/// JSON backslashes occur only inside strings, so that no parsing is needed.
pub(crate) fn replace_lone(json: &mut [u8]) {
    let mut at = 0;
    while let Some(step) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += step;
        at += match (surrogate(json, at), surrogate(json, at + 6)) {
            (None, _) => 2,
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                json[at..at + 6].copy_from_slice(REPLACEMENT);
                6
            }
        };
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Which half of a pair an escape is, if it is one.
fn surrogate(json: &[u8], at: usize) -> Option<Half> {
    let escape = json.get(at..at.checked_add(6)?)?;
    let [b'\\', b'u', b'd' | b'D', digit, third, fourth] = *escape else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match digit.to_ascii_lowercase() {
        b'8'..=b'9' | b'a'..=b'b' => Some(Half::High),
        b'c'..=b'f' => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::replace_lone;

    #[test]
    fn only_escapes_without_a_partner_are_replaced() {
        for (given, expected) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D""#, r#""\ufffd""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\ud7ff\ue000""#, r#""\ud7ff\ue000""#),
            (r#""\ud83"#, r#""\ud83"#),
            (r"\", r"\"),
            (r#""a\nb\u0041\ud83d\ude00""#, r#""a\nb\u0041\ud83d\ude00""#),
        ] {
            let mut text = given.as_bytes().to_vec();
            replace_lone(&mut text);
            assert_eq!(std::str::from_utf8(&text), Ok(expected), "{given}");
        }
    }
}

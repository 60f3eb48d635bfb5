//! Escapes of control characters in JSON (`\u0001`), each six bytes for one: a text of such characters is six times
//! as long on the wire.

use memchr::memchr;

const LONG: usize = br"\u0001".len();
const SHORT: usize = br"\n".len();

/// Counts the bytes that long escapes take beyond their characters, in a text that grows.
#[derive(Default)]
pub(super) struct LongEscapes {
    /// The bytes that have been looked at.
    seen: usize,
    saved: usize,
}

impl LongEscapes {
    /// The bytes saved if each stood for one; `text` begins with what was given before.
    pub(super) fn saved(&mut self, text: &[u8]) -> usize {
        while let Some(step) = memchr(b'\\', text.get(self.seen..).unwrap_or_default()) {
            self.seen += step;
            // The rest of an escape may be on its way.
            let Some(escape) = text.get(self.seen..self.seen + LONG) else {
                return self.saved;
            };
            match escape.starts_with(br"\u00") {
                true => {
                    self.seen += LONG;
                    self.saved += LONG - 1;
                }
                false => self.seen += SHORT,
            }
        }
        self.seen = self.seen.max(text.len());
        self.saved
    }
}

#[cfg(test)]
mod tests {
    use super::LongEscapes;

    #[test]
    fn long_escapes_count_once_wherever_the_text_is_cut() {
        for (text, expected) in [
            (r#"{"a":"plain"}"#, 0),
            (r#""\u0001\u001f""#, 10),
            (r#""\n\u0001\t""#, 5),
            (r#""\\u0001""#, 0),
            (r#""\\\u0001""#, 5),
            (r#""\u0430""#, 0),
            (r#""\u00"#, 0),
        ] {
            for cut in 0..=text.len() {
                let mut escapes = LongEscapes::default();
                escapes.saved(&text.as_bytes()[..cut]);
                assert_eq!(escapes.saved(text.as_bytes()), expected, "{text} {cut}");
            }
        }
    }
}

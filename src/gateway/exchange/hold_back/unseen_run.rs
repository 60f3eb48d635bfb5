//! Long runs of characters that no reader shows, of which an inspected text has the first ones only: detectors read
//! all of them as nothing, and so they take no room between the two halves of a number.

use monitor_wire::json::{is_tag_digit, is_unseen};
use std::borrow::Cow;

/// The characters of a run that stay. Combining marks are read as nothing too; no word has so many in a row.
const MOST: usize = 16;
/// The digits of a run that are written as tags and stay, beside those: one more than a number has.
const MOST_TAG_DIGITS: usize = 20;

/// How many such characters stand at the end of a text.
#[derive(Clone, Copy, Default)]
pub(super) struct UnseenRun {
    unread: usize,
    tag_digits: usize,
}

impl UnseenRun {
    /// What is inspected of more text.
    pub(super) fn inspected<'t>(&mut self, more: &'t str) -> Cow<'t, str> {
        if more.chars().any(is_elidable) {
            return more.chars().filter(|c| self.keeps(*c)).collect();
        }
        if !more.is_empty() {
            *self = Self::default();
        }
        Cow::Borrowed(more)
    }

    /// Up to where the same text stands for so many inspected bytes.
    pub(super) fn bytes(mut self, more: &str, inspected: usize) -> usize {
        let mut left = inspected;
        for (at, c) in more.char_indices() {
            if self.keeps(c) {
                match left.checked_sub(c.len_utf8()) {
                    Some(rest) => left = rest,
                    None => return at,
                }
            }
        }
        more.len()
    }

    /// Whether the text goes on with characters that are left out.
    pub(super) fn is_long(self) -> bool {
        self.unread > MOST || self.tag_digits > MOST_TAG_DIGITS
    }

    fn keeps(&mut self, c: char) -> bool {
        if is_tag_digit(c) {
            self.tag_digits += 1;
            return self.tag_digits <= MOST_TAG_DIGITS;
        }
        if is_elidable(c) {
            self.unread += 1;
            return self.unread <= MOST;
        }
        *self = Self::default();
        true
    }
}

/// White space counts: detectors read it.
fn is_elidable(c: char) -> bool {
    is_unseen(c) && !c.is_whitespace()
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}')
}

#[cfg(test)]
mod tests {
    use super::UnseenRun;

    /// A text with runs of such characters, shorter and longer than what stays.
    fn text() -> String {
        let [few, many] = [7, 50].map(|count| "\u{200b}\u{ad}".repeat(count));
        format!("a{few}b{many}ц{many}\n{few}d")
    }

    #[test]
    fn the_inspected_text_is_the_same_however_it_comes() {
        let text = text();
        let whole = UnseenRun::default().inspected(&text).into_owned();
        let few = "\u{200b}\u{ad}".repeat(7);
        let most = "\u{200b}\u{ad}".repeat(8);
        assert_eq!(whole, format!("a{few}b{most}ц{most}\n{few}d"));
        for size in 1..40 {
            let (mut run, mut found, mut rest) = (UnseenRun::default(), String::new(), &*text);
            while !rest.is_empty() {
                let (more, behind) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
                found += &run.inspected(more);
                rest = behind;
            }
            assert_eq!(found, whole, "{size}");
        }
    }

    #[test]
    fn a_number_of_tags_stays_among_them_and_no_longer_one() {
        let tags = |count| "\u{e0031}".repeat(count);
        let text = format!("a{}{}b{}c", "\u{200b}".repeat(50), tags(19), tags(50));
        let whole = format!("a{}{}b{}c", "\u{200b}".repeat(16), tags(19), tags(20));
        assert_eq!(UnseenRun::default().inspected(&text), whole);
    }

    #[test]
    fn bytes_of_the_text_stand_for_those_inspected() {
        let text = text();
        let run = UnseenRun::default();
        let whole = run.clone().inspected(&text).into_owned();
        assert_eq!(run.bytes(&text, whole.len()), text.len());
        assert_eq!(run.bytes(&text, 0), 0);
        for (inspected, _) in whole.char_indices() {
            let part = &text[..run.bytes(&text, inspected)];
            assert_eq!(run.clone().inspected(part), &whole[..inspected]);
        }
    }
}

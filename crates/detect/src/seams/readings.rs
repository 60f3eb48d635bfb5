//! How much of a message in parts is read besides its text: the readings of its breaks as borders (`borders`)
//! cost a few times its bytes at most. A message of very many short parts is not read to the end in this way,
//! and whoever reads it is told.

use super::borders::{Borders, Plan};
use super::parts::{JoinedParts, Reader};
use super::{Joining, breaks, joined_parts, joined_seams, without_blank_parts};
use crate::message::Message;

/// The readings of breaks as borders may take so many times the bytes of the text,
const TIMES_THE_TEXT: usize = 4;
/// and so many more: those of a number that is written digit by digit in a short text.
const MORE: usize = 64 * 1024;

/// Gives each reading of the breaks as borders to `read`, until it says stop. False if there are more than the
/// bytes of the text allow; then the likeliest were read, from the beginning of the message on. Parts of blanks
/// are left out, and for regexes read as well: a blank may be what one asks for.
pub(crate) fn read_bordered(
    message: Message<'_>,
    reader: Reader,
    mut read: impl FnMut(&JoinedParts) -> bool,
) -> bool {
    plan(message, reader, |borders, plan| read(&borders.read(plan)))
}

/// The bytes that are read across the parts of a message, besides its text.
pub(crate) fn bytes_across(message: Message<'_>, reader: Reader) -> usize {
    if message.part_breaks.is_empty() {
        return 0;
    }
    let length = |joined: JoinedParts| joined.text.len();
    let mut bytes = match reader {
        Reader::Detectors => joined_seams(message).map(length).sum::<usize>(),
        Reader::CustomPatterns => joined_parts(message).map(length).sum(),
    };
    plan(message, reader, |_, plan| {
        bytes += plan.cost();
        true
    });
    bytes
}

/// Whether all readings of a message in parts are within what its bytes allow: if not, values that are split over
/// several of them are not looked for everywhere.
pub fn is_read_whole(message: Message<'_>, reader: Reader) -> bool {
    plan(message, reader, |_, _| true)
}

/// Gives each plan to `take` until it says stop; false if there are more than may be read.
fn plan(
    message: Message<'_>,
    reader: Reader,
    mut take: impl FnMut(&Borders<'_>, &Plan) -> bool,
) -> bool {
    let breaks = breaks(message);
    if breaks.len() < 2 {
        return true;
    }
    let without_blank = without_blank_parts(message.text, &breaks);
    let lists = match (without_blank.is_empty(), reader) {
        (true, _) => vec![breaks],
        (false, Reader::Detectors) => vec![without_blank],
        (false, Reader::CustomPatterns) => vec![without_blank, breaks],
    };
    let mut left = message.text.len().saturating_mul(TIMES_THE_TEXT);
    left = left.saturating_add(MORE);
    let (mut is_whole, mut go_on) = (true, true);
    let all = lists.into_iter();
    for joined in all.flat_map(|cuts| Joining::new(message.text, cuts)) {
        let borders = Borders::new(&joined, reader);
        borders.each(&mut |plan| {
            is_whole = plan.cost() <= left;
            left = left.saturating_sub(plan.cost());
            go_on = is_whole && take(&borders, plan);
            go_on
        });
        if !go_on {
            break;
        }
    }
    is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[&str]) -> (String, Vec<usize>) {
        let text = parts.join("\n");
        let mut breaks = Vec::new();
        for part in &parts[..parts.len() - 1] {
            breaks.push(breaks.last().map_or(0, |last| last + 1) + part.len());
        }
        (text, breaks)
    }

    /// Every reading of parts, with `|` where it can be crossed; and whether there are no more.
    fn readings(parts: &[&str], reader: Reader) -> (Vec<String>, bool) {
        let (text, breaks) = message(parts);
        let message = Message {
            text: &text,
            part_breaks: &breaks,
        };
        let mut told = Vec::new();
        let is_whole = read_bordered(message, reader, |reading| {
            let mut shown = reading.text.clone();
            for seam in reading.seams.iter().rev() {
                shown.insert(seam.at, '|');
                if !text.is_ascii() {
                    continue;
                }
                let span = reading.original(seam.at - 1..seam.at + 1);
                let seen = |text: &str| text.split_whitespace().collect::<String>();
                let read = reading.text.get(seam.at - 1..seam.at + 1);
                assert_eq!(span.map(|span| seen(&text[span])), read.map(seen));
            }
            told.push(shown);
            true
        });
        (told, is_whole)
    }

    #[test]
    fn each_break_is_a_border_and_nothing() {
        let all = |parts: &[&str]| readings(parts, Reader::CustomPatterns).0;
        assert_eq!(all(&["a", "b"]), [""; 0]);
        assert_eq!(all(&["a", "b", "c"]), ["a\nb|c", "a|b\nc"]);
        assert_eq!(
            all(&["a", "b", "", "c", "d"]),
            ["a\nb|c\nd", "a\nb|c|d", "a|b\nc|d", "a|b|c\nd"]
        );
        // A part of blanks is nothing, and what it is.
        let blank = all(&["x", "foo", " ", "bar", "y"]);
        for expected in ["x\nfoo|bar\ny", "x\nfoo| |bar\ny"] {
            assert!(blank.iter().any(|text| text == expected), "{blank:?}");
        }
        // Two values that share no byte are in one reading.
        let two = all(&["x", "1", "2", "3", "4", "y"]);
        assert_eq!(two[0], "x\n1|2\n3|4\ny");
    }

    #[test]
    fn detectors_read_what_they_can_find_something_in() {
        let detectors = |parts: &[&str]| readings(parts, Reader::Detectors).0.len();
        let words = ["these", " are ", "words", ", and ", "nothing", " else"].repeat(50);
        assert_eq!(detectors(&words), 0);
        assert!(readings(&words, Reader::CustomPatterns).0.len() > 5);
        for value in ["1", "@", ".", ":", "\u{ff11}"] {
            assert!(detectors(&["the", value, "word"]) > 0, "{value}");
        }
    }

    /// Work is counted, not timed: what is read besides the text is a few times its bytes, however a message is
    /// put together; and what is not read is told.
    #[test]
    fn the_readings_of_many_breaks_take_a_few_times_the_bytes_of_the_text() {
        for (parts, is_read) in [
            (vec!["1"; 40_000], false),
            (vec!["a"; 40_000], true),
            ([" ", "4"].repeat(2_047), false),
            (["\u{200b}\u{200b}\u{200b}", "4"].repeat(2_047), false),
            (vec!["12 "; 4_000], false),
            (vec!["@"; 4_000], false),
            (vec!["слово"; 4_000], true),
            (
                vec!["1 word of a part that is as long as this "; 1_000],
                true,
            ),
            (vec!["4276 5493 6034 4563 "; 100], true),
            (vec!["1"; 20], true),
        ] {
            let (text, breaks) = message(&parts);
            let message = Message {
                text: &text,
                part_breaks: &breaks,
            };
            let most = TIMES_THE_TEXT * text.len() + MORE;
            for reader in [Reader::Detectors, Reader::CustomPatterns] {
                let (mut bytes, mut count) = (0, 0);
                let is_whole = read_bordered(message, reader, |reading| {
                    bytes += reading.text.len();
                    count += 1;
                    true
                });
                assert_eq!(is_read_whole(message, reader), is_whole);
                let cost = text.len() + bytes_across(message, reader);
                assert!(bytes + 128 * count <= most, "{:?}: {bytes}", &parts[..2]);
                assert!(cost >= text.len() + bytes, "{:?}: {cost}", &parts[..2]);
                assert!(cost <= 3 * text.len() + most, "{:?}: {cost}", &parts[..2]);
                if reader == Reader::Detectors {
                    assert_eq!(is_whole, is_read, "{:?}: {bytes} {count}", &parts[..2]);
                }
            }
        }
        let far = "1".repeat(100);
        let (far, _) = readings(&["1", &far, &far, "1"], Reader::Detectors);
        assert_eq!(far, [""; 0]);
    }
}

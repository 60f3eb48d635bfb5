//! Where the long strings of a body end, and its containers that take long to walk over. The scan notes them, so that
//! whoever walks the body again steps over each at once: most of a large body is a few images or long texts, and a
//! reader of nested values steps over each value on every level above it.

use std::ops::Range;

/// Bytes of a string from which on it is noted: looking it up costs less than walking it again, and the notes
/// take a thirtieth of the body at most.
const LONG: usize = 256;
/// Bytes of a container from which on it is noted, without those that a noted value inside it saves. So many bytes
/// have one note at most however deep they are nested, and all notes take less than a sixth of the body.
const WORTHWHILE: usize = 64;
/// What stepping over a noted value costs, in bytes of a walk.
const STEP: usize = 8;
/// The same of a string, which is walked a little before it is looked up.
const STRING_STEP: usize = 24;
/// Levels around that are walked a few times only, whatever they hold: a list of messages, and its messages.
const OUTER_LEVELS: usize = 2;
/// Levels inside those whose containers are noted. Readers go no deeper.
const NOTED_LEVELS: usize = 48;

/// Levels around what stands inside the parts of messages.
const PART_LEVELS: usize = 4;
/// What reading a string costs beside its bytes, in bytes of a long one: walks look at each string several times.
const STRING_COST: usize = 24;

/// A string with its quotes, or a container, in bytes of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    start: u32,
    end: u32,
}

/// The notes of a body, by their beginnings.
pub(crate) type Notes = Vec<Note>;

/// What a scan notes while it passes the values of a body.
#[derive(Default)]
pub(super) struct Notebook {
    notes: Notes,
    /// What the notes save a walk over all that was passed.
    saved: usize,
    /// The containers that are open, on the levels that are noted.
    open: Vec<Open>,
    /// A container was noted behind something inside it.
    is_unsorted: bool,
    /// What reading the texts costs beside their bytes: the number of strings, and the bytes of the containers inside
    /// parts of messages, those of each level.
    cost: usize,
}

/// A container that is open.
struct Open {
    start: usize,
    /// What the notes before it save.
    saved: usize,
}

impl Notebook {
    /// Notes a string that the scan has passed, if it is long.
    #[inline]
    pub(super) fn string(&mut self, string: Range<usize>) {
        self.cost += STRING_COST;
        let length = string.len();
        if length >= LONG && self.add(string) {
            self.saved += length - STRING_STEP;
        }
    }

    /// A container begins, with so many around it.
    #[inline]
    pub(super) fn open(&mut self, level: usize, start: usize) {
        if is_noted(level) {
            let saved = self.saved;
            self.open.push(Open { start, saved });
        }
    }

    /// The container on that level that began last ends.
    #[inline]
    pub(super) fn close(&mut self, level: usize, end: usize) {
        let open = match is_noted(level) {
            true => self.open.pop(),
            false => None,
        };
        if let Some(open) = open {
            if level >= PART_LEVELS {
                self.cost = self.cost.saturating_add(end - open.start);
            }
            self.container(&open, end);
        }
    }

    fn container(&mut self, open: &Open, end: usize) {
        let length = end - open.start;
        let walked = length - (self.saved - open.saved);
        if walked >= WORTHWHILE && self.add(open.start..end) {
            self.saved = open.saved + length - STEP;
        }
    }

    /// Whether there is room for the numbers.
    fn add(&mut self, value: Range<usize>) -> bool {
        let (Ok(start), Ok(end)) = (u32::try_from(value.start), u32::try_from(value.end)) else {
            return false;
        };
        self.is_unsorted |= self.notes.last().is_some_and(|last| last.start > start);
        self.notes.push(Note { start, end });
        true
    }

    /// What reading the texts costs beside their bytes, in bytes of one long text that costs as much.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    pub(super) fn into_notes(mut self) -> Notes {
        if self.is_unsorted {
            self.notes.sort_unstable_by_key(|note| note.start);
        }
        self.notes
    }
}

fn is_noted(level: usize) -> bool {
    (OUTER_LEVELS..OUTER_LEVELS + NOTED_LEVELS).contains(&level)
}

/// Where the value ends that begins at `start`, if it is noted.
#[inline]
pub(crate) fn end_of(notes: &[Note], start: usize) -> Option<usize> {
    if notes.is_empty() {
        return None;
    }
    let start = u32::try_from(start).ok()?;
    let place = notes.binary_search_by_key(&start, |note| note.start).ok()?;
    notes.get(place).map(|note| note.end as usize)
}

/// The notes on values that begin at `start` or behind it.
pub(crate) fn behind(notes: &[Note], start: usize) -> &[Note] {
    let first = notes.partition_point(|note| (note.start as usize) < start);
    notes.get(first..).unwrap_or_default()
}

/// The same for a walk that looks up one place after the other: `notes` are those on what it has not reached.
#[inline]
pub(crate) fn next_end_of(notes: &mut &[Note], start: usize) -> Option<usize> {
    while let Some((note, rest)) = notes.split_first() {
        if note.start as usize > start {
            return None;
        }
        let end = note.end as usize;
        if note.start as usize == start {
            *notes = behind(rest, end);
            return Some(end);
        }
        *notes = rest;
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{LONG, Note, STEP, WORTHWHILE};
    use crate::json::View;
    use crate::json::kind::Kind;
    use crate::json::scan;

    /// All spans below a view.
    fn walk(view: View<'_>, spans: &mut Vec<std::ops::Range<usize>>) {
        spans.push(view.span());
        match view.kind() {
            Kind::Object => view.members().for_each(|member| walk(member.value, spans)),
            Kind::Array => view.elements().for_each(|element| walk(element, spans)),
            _ => {}
        }
    }

    #[test]
    fn a_walk_that_steps_over_long_strings_sees_the_same_values() {
        let strings: Vec<String> = (LONG - 5..LONG + 3)
            .map(|length| format!("\"{}\"", "a\\\"b".repeat(length / 4)))
            .collect();
        let object: Vec<String> = strings
            .iter()
            .map(|long| format!(r#" {long} : [ {long},1,"s", {{"k":{long}}} ]"#))
            .collect();
        let body = format!(
            r#" {{ "first" : {{{}}}, "last":{} }}"#,
            object.join(","),
            strings[0]
        );
        let found = scan(body.as_bytes()).unwrap();
        for member in found.members(body.as_bytes()) {
            let (mut quick, mut slow) = (Vec::new(), Vec::new());
            walk(
                found.view(body.as_bytes(), member.value.clone()),
                &mut quick,
            );
            walk(View::new(body.as_bytes(), member.value), &mut slow);
            assert_eq!(quick, slow);
        }
    }

    /// A value of many kinds, so many levels deep at most.
    fn random(dice: &mut u64, levels: usize) -> String {
        let mut roll = |sides: u64| {
            *dice ^= *dice << 13;
            *dice ^= *dice >> 7;
            *dice ^= *dice << 17;
            *dice % sides
        };
        let (kind, count) = (roll(8), roll(6));
        let length = match roll(9) {
            0 => 40 * roll(20),
            _ => roll(30),
        };
        let values = |dice: &mut u64, name: &str| {
            let values = (0..count).map(|_| format!("{name}{}", random(dice, levels - 1)));
            values.collect::<Vec<_>>().join(" , ")
        };
        match kind {
            0 | 1 if levels > 0 => format!("[ {}]", values(dice, "")),
            2..5 if levels > 0 => format!("{{{} }}", values(dice, "\"[{\\\"\": ")),
            5 => "-1.5e3".to_owned(),
            _ => format!("\"{}\"", "]".repeat(usize::try_from(length).unwrap())),
        }
    }

    #[test]
    fn a_walk_by_notes_sees_the_same_values_however_they_are_nested() {
        let mut dice = 77;
        let mut noted = 0;
        for round in 0..400 {
            let values: Vec<String> = (0..6).map(|_| random(&mut dice, 3 + round % 9)).collect();
            let body = format!(r#"{{"a":[[{}]],"b":{}}}"#, values.join(","), values[0]);
            let found = scan(body.as_bytes()).unwrap();
            noted += found.notes.len();
            assert!(
                found.notes.len() <= body.len() / (WORTHWHILE - STEP),
                "{body}"
            );
            let (mut quick, mut slow) = (Vec::new(), Vec::new());
            walk(found.root(body.as_bytes()), &mut quick);
            walk(View::new(body.as_bytes(), 0..body.len()), &mut slow);
            assert!(quick == slow, "{body}");
        }
        assert!(noted > 1_000, "{noted} notes");
    }

    #[test]
    fn notes_take_a_sixth_of_a_body_at_most_however_deep_it_is() {
        for (open, close) in [
            ("[", "]"),
            (r#"{"a":"#, "}"),
            (r#"[1,{"a":"#, "}]"),
            ("[[],", "]"),
        ] {
            for levels in [1, 30, 3_000] {
                let group = format!("{}1{}", open.repeat(levels), close.repeat(levels));
                let groups = vec![group.as_str(); 60_000 / group.len() + 1].join(",");
                let body = format!(r#"{{"a":[{groups}],"b":"{}"}}"#, "x".repeat(LONG));
                let notes = scan(body.as_bytes()).unwrap().notes;
                assert!(
                    6 * size_of::<Note>() * notes.len() <= body.len(),
                    "{open} {levels}"
                );
            }
        }
    }
}

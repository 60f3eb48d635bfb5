//! Where the long strings of a body stand. The scan notes them, so that whoever walks the body again steps over
//! each at once: most of a large body is a few images or long texts.

use std::ops::Range;

/// Bytes of a string from which on it is noted: looking it up costs less than walking it again, and the notes
/// take a sixteenth of the body at most.
const LONG: usize = 256;

/// Spans of strings with their quotes, ascending.
pub(super) type LongStrings = Vec<Range<usize>>;

/// Notes a string that the scan has passed, behind those before it, if it is long.
#[inline]
pub(super) fn note(known: &mut LongStrings, string: Range<usize>) {
    if string.len() >= LONG {
        known.push(string);
    }
}

/// Where the string ends that begins at `start`, if it is noted.
#[inline]
pub(super) fn end_of(known: &[Range<usize>], start: usize) -> Option<usize> {
    if known.is_empty() {
        return None;
    }
    let place = known
        .binary_search_by_key(&start, |string| string.start)
        .ok()?;
    known.get(place).map(|string| string.end)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::LONG;
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
}

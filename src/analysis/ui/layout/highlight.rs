//! A text with its finds marked, and the beginning of a long one.

use maud::{Markup, html};
use monitor_model::Entity;

/// A text with its finds marked. Offsets count Unicode code points; a find that overlaps the one before
/// it or lies outside the text is skipped.
pub(crate) fn marked(text: &str, entities: &[Entity]) -> Markup {
    let mut pieces: Vec<(&str, Option<&str>)> = Vec::new();
    let (mut rest, mut at) = (text, 0);
    for entity in entities {
        let Some(gap) = entity.start.checked_sub(at) else {
            continue;
        };
        let (before, behind) = split(rest, gap);
        let (found, behind) = split(behind, entity.end.saturating_sub(entity.start));
        if !found.is_empty() {
            pieces.extend([(before, None), (found, Some(&*entity.kind))]);
            (rest, at) = (behind, entity.end);
        }
    }
    pieces.push((rest, None));
    html! {
        @for (piece, kind) in pieces {
            @match kind {
                Some(kind) => mark title=(kind) { (piece) span.kind { (kind) } },
                None => (piece),
            }
        }
    }
}

fn split(text: &str, points: usize) -> (&str, &str) {
    let at = text
        .char_indices()
        .nth(points)
        .map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

/// The first `points` code points of a text, and whether there are more.
pub(crate) fn beginning(text: &str, points: usize) -> (&str, bool) {
    let (first, rest) = split(text, points);
    (first, !rest.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn entity(kind: &str, start: usize, end: usize) -> Entity {
        Entity {
            kind: kind.into(),
            start,
            end,
        }
    }

    #[test]
    fn finds_are_marked_by_code_points_and_everything_is_escaped() {
        let entities = [
            entity("A<", 2, 4),
            entity("B", 4, 5),
            entity("late", 90, 95),
        ];
        let shown = marked("Ё <é>&", &entities).into_string();
        assert_eq!(
            shown,
            "Ё <mark title=\"A&lt;\">&lt;é<span class=\"kind\">A&lt;</span></mark>\
             <mark title=\"B\">&gt;<span class=\"kind\">B</span></mark>&amp;"
        );
        assert_eq!(marked("x", &[entity("A", 5, 2)]).into_string(), "x");
    }
}

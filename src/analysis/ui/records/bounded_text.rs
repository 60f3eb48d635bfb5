//! Texts of callers, which may be of any length, cut for a page: limited by their escaped bytes, so that
//! no caller makes a page large. The JSON file has the whole text.

use crate::analysis::ui::layout::highlight::beginning;
use maud::{Markup, html};
use monitor_model::Entity;
use serde_json::Value;
use std::io::{self, Write};

/// Bytes of a name that are shown, as the page writes them.
const NAME: usize = 240;
/// Bytes of the longest address that a name is linked to.
const ADDRESS: usize = 600;

/// The beginning of a name.
pub(crate) fn name(text: &str) -> Markup {
    let first = within(text, NAME);
    html! { (first) @if first.len() < text.len() { "…" } }
}

/// How a name looks as a link.
pub(crate) struct LinkStyle<'t> {
    pub(super) class: &'static str,
    /// A word before the name; empty for none.
    pub(super) label: &'t str,
}

impl<'t> LinkStyle<'t> {
    /// In the color of the text around it.
    pub(crate) fn plain(label: &'t str) -> Self {
        Self {
            class: "plain cut",
            label,
        }
    }
}

/// The same as a link, where its address is not too long.
pub(crate) fn link(text: &str, style: LinkStyle<'_>, to: impl FnOnce(&str) -> String) -> Markup {
    let address = (text.len() <= ADDRESS).then(|| to(text));
    let address = address.filter(|address| address.len() <= ADDRESS);
    let shown = html! { @if !style.label.is_empty() { (style.label) " " } (name(text)) };
    let title = within(text, NAME);
    html! {
        @match address {
            Some(address) => a class=(style.class) href=(address) title=(title) { (shown) },
            None => span.cut title=(title) { (shown) },
        }
    }
}

/// How much of a text a page shows.
#[derive(Clone, Copy)]
pub(super) struct TextLimit {
    /// Bytes, as the page writes them.
    pub(super) bytes: usize,
    /// Finds that are marked.
    pub(super) marks: usize,
}

/// The beginning of a text within the limit, and whether there is more. It ends before the first find
/// that is not marked.
pub(super) fn part<'t>(text: &'t str, entities: &[Entity], limit: TextLimit) -> (&'t str, bool) {
    let marked = entities.get(limit.marks);
    let marked = marked.map_or(text, |next| beginning(text, next.start).0);
    let first = within(marked, limit.bytes);
    (first, first.len() < text.len())
}

/// As much of a text as takes these bytes once it is escaped.
pub(super) fn within(text: &str, bytes: usize) -> &str {
    let mut taken = 0;
    let over = text.char_indices().find(|(_, c)| {
        taken += match c {
            '&' => 5,
            '<' | '>' => 4,
            '"' => 6,
            other => other.len_utf8(),
        };
        taken > bytes
    });
    over.map_or(text, |(at, _)| text.split_at(at).0)
}

/// The beginning of a value, and whether there is more: a text as it is, anything else as JSON.
pub(super) fn value(value: &Value, bytes: usize) -> (String, bool) {
    let cut = |whole: &str| {
        let first = within(whole, bytes);
        (first.to_owned(), first.len() < whole.len())
    };
    match value {
        Value::String(text) => cut(text),
        other => cut(&json(other, bytes)),
    }
}

/// A value as JSON, or its beginning where it is longer than these bytes: no more of it is written.
fn json(value: &Value, bytes: usize) -> String {
    let mut out = Bounded {
        written: Vec::new(),
        most: bytes + 1,
    };
    // Writing fails once the limit is reached; what is written so far is shown.
    let _ = serde_json::to_writer_pretty(&mut out, value);
    String::from_utf8_lossy(&out.written).into_owned()
}

struct Bounded {
    written: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self
            .most
            .saturating_sub(self.written.len())
            .min(bytes.len());
        self.written.extend(bytes.iter().take(room));
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_is_shown_by_its_beginning_and_linked_while_its_address_is_short() {
        let shown = |text: &str| link(text, LinkStyle::plain(""), |text| format!("/x?{text}"));
        let short = shown("a<b").into_string();
        assert_eq!(
            short,
            "<a class=\"plain cut\" href=\"/x?a&lt;b\" title=\"a&lt;b\">a&lt;b</a>"
        );
        let long = shown(&"n".repeat(ADDRESS)).into_string();
        assert!(
            long.starts_with("<span class=\"cut\" title=\"nnn"),
            "{long}"
        );
        assert_eq!(
            long.matches('n').count(),
            2 * NAME + 2,
            "in text, title and words"
        );
        assert!(long.ends_with("…</span>"));
    }

    #[test]
    fn a_part_counts_bytes_as_they_are_written_and_ends_before_the_first_unmarked_find() {
        let limit = TextLimit {
            bytes: 10,
            marks: 1,
        };
        assert_eq!(part("дом дом", &[], limit), ("дом д", true));
        assert_eq!(part("<<<<", &[], limit), ("<<", true));
        assert_eq!(part("0123456789", &[], limit), ("0123456789", false));
        let find = |start| Entity {
            kind: "A".into(),
            start,
            end: start + 1,
        };
        assert_eq!(part("абвг", &[find(0), find(2)], limit), ("аб", true));
        assert_eq!(part("абвг", &[find(0)], limit), ("абвг", false));
    }

    #[test]
    fn no_more_of_a_value_is_written_than_is_shown() {
        assert_eq!(
            value(&json!("say \"x\""), 99),
            ("say \"x\"".to_owned(), false)
        );
        assert_eq!(value(&json!([1]), 99), ("[\n  1\n]".to_owned(), false));
        let (shown, is_cut) = value(&json!(vec!["дом"; 1_000]), 50);
        assert!(
            is_cut && within(&shown, 50) == shown && shown.len() > 20,
            "{shown}"
        );
    }
}

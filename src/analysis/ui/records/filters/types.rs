//! A filter by a type of finds that no record has: what is wrong with it, and which types are meant perhaps.

use crate::analysis::ui::records::bounded_text;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::pattern_names;

/// The message about an unknown type, with links to those that have its words.
pub(crate) fn unknown(view: &View, query: &ListQuery, kind: &str) -> Markup {
    let r = view.r();
    let meant = meant(kind);
    let link = |name: &str| query.with("type", Some(name)).address("/ui/records");
    html! {
        div.notice.bad role="alert" {
            strong { (r.wrong_filter) } " " code { "type" } " "
            (r.unknown_type) " " code { (bounded_text::name(kind)) } ". "
            @if meant.is_empty() { (r.types_are_named) } @else {
                (r.types_meant) " "
                @for (at, name) in meant.iter().enumerate() { @if at > 0 { ", " } a href=(link(name)) { code { (name) } } }
            }
        }
    }
}

/// The built-in types whose names contain this one in any case, with any signs between its words.
fn meant(kind: &str) -> Vec<&'static str> {
    let wanted = kind.trim().to_uppercase().replace([' ', '-'], "_");
    pattern_names()
        .filter(|name| !wanted.is_empty() && name.contains(&wanted))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_type_is_found_by_a_part_of_its_name_in_any_case() {
        assert_eq!(meant("card"), ["BANK_CARD_NUMBER"]);
        assert_eq!(meant("bank card"), ["BANK_CARD_NUMBER"]);
        assert_eq!(meant("nothing of ours"), Vec::<&str>::new());
        assert_eq!(meant(" "), Vec::<&str>::new());
    }
}

//! What the type of a block or an item says of it.

use crate::json::view::View;

/// Whether a block or an item is a call of a tool, beyond doubt.
pub(super) fn is_call(block: View<'_>) -> bool {
    let ends = ["tool_use", "_call", "_request"];
    has_type(
        block,
        |kind| ends.iter().any(|end| kind.ends_with(end)),
        true,
    )
}

pub(super) fn is_result(kind: &str) -> bool {
    kind.ends_with("tool_result")
}

/// Whether some type of a block is such, or, with `every`, all of them are: only with duplicate keys it has several.
pub(super) fn has_type(block: View<'_>, is: impl Fn(&str) -> bool, every: bool) -> bool {
    let mut types = block.named_in_any_case("type").peekable();
    let is = |kind: View<'_>| kind.text().is_some_and(|kind| is(&kind));
    match every {
        true => types.peek().is_some() && types.all(is),
        false => types.any(is),
    }
}

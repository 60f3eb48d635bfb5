//! Custom patterns that the bound on the time of a check stops, and a text for them.

use serde_json::{Value, json};

/// Digits without a period, so that no automaton of a few states reads them.
pub fn digits(length: usize) -> String {
    let mut state = 1_u32;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { '0' } else { '1' }
    })
    .take(length)
    .collect()
}

/// Custom patterns that search long through [`digits`] and find nothing there.
pub fn patterns(count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| json!({"name": format!("N{number}"), "regex": "[01]*1[01]{1000}\\W"}))
        .collect()
}

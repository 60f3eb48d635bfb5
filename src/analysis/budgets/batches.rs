//! What is published to other processes, in batches that fit in one statement.

use monitor_model::{ApplicationId, CountedBudgets};

/// The most applications of a batch.
const MOST_APPLICATIONS: usize = 100;
/// The most states of a batch, unless one application has more.
const MOST_STATES: usize = 1_000;
/// The most bytes of names in a batch, unless one application has more.
const MOST_BYTES: usize = 4 << 20;

/// Takes the next batch.
pub(super) fn next_batch(
    unpublished: &mut Vec<(ApplicationId, CountedBudgets)>,
) -> Vec<(ApplicationId, CountedBudgets)> {
    let (mut states, mut bytes) = (0, 0);
    let mut fits = |counted: &CountedBudgets| {
        let named = counted.states.iter();
        let names = named.flat_map(|state| state.spent.iter().chain(&state.warned));
        states += counted.states.len();
        bytes += names.map(String::len).sum::<usize>();
        states <= MOST_STATES && bytes <= MOST_BYTES
    };
    let most = unpublished
        .iter()
        .take(MOST_APPLICATIONS)
        .take_while(|(_, counted)| fits(counted))
        .count();
    unpublished.drain(..most.max(1)).collect()
}

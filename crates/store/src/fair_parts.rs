//! Shares a limit of the whole store among applications: what an application has beyond its part goes first,
//! so that the records of one application push out none of another that keeps within its own.
//!
//! The part is max-min fair: an application with less than an equal part leaves the rest to the others.

use monitor_model::ApplicationId;

/// An application, and how much of something it has or may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) application: ApplicationId,
    pub(crate) amount: u64,
}

/// The applications that have more than their part of the limit, each with what it may keep. All parts
/// together are the limit.
pub(crate) fn beyond_parts(limit: u64, mut stored: Vec<Part>) -> Vec<Part> {
    stored.sort_unstable_by_key(|one| (one.amount, one.application.0));
    let (mut left, mut sharing) = (limit, stored.len() as u64);
    let mut beyond = Vec::new();
    for one in stored {
        let kept = one.amount.min(left / sharing.max(1));
        left -= kept;
        sharing -= 1;
        if kept < one.amount {
            beyond.push(Part {
                amount: kept,
                ..one
            });
        }
    }
    beyond
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn parts(limit: u64, stored: &[u64]) -> Vec<(u128, u64)> {
        let part = |(number, amount): (usize, &u64)| Part {
            application: ApplicationId(Uuid::from_u128(number as u128)),
            amount: *amount,
        };
        let stored = stored.iter().enumerate().map(part).collect();
        let beyond = beyond_parts(limit, stored);
        let mut beyond: Vec<_> = beyond
            .iter()
            .map(|one| (one.application.0.as_u128(), one.amount))
            .collect();
        beyond.sort_unstable();
        beyond
    }

    #[test]
    fn only_those_above_their_part_give_something_up_and_the_limit_is_used_whole() {
        assert_eq!(parts(500, &[100, 600]), [(1, 400)]);
        assert_eq!(parts(500, &[100, 400]), []);
        assert_eq!(parts(500, &[600]), [(0, 500)]);
        assert_eq!(parts(10, &[20, 1, 20]), [(0, 4), (2, 5)]);
        assert_eq!(parts(10, &[9, 9, 9]), [(0, 3), (1, 3), (2, 4)]);
        assert_eq!(parts(0, &[3, 0]), [(0, 0)]);
        assert_eq!(parts(1, &[1, 1, 1]), [(0, 0), (1, 0)]);
        assert_eq!(parts(7, &[]), []);
    }
}

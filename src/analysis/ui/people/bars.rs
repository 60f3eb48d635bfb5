//! Sums of days of one user: its bars, its finds by type, and the change against the time before.

use crate::analysis::records::{UserCounts, UserDay, UserDayCount};
use crate::analysis::ui::layout::components::number;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::TypeCount;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Days of the bars of a row.
pub(super) const DAYS: i64 = 30;
/// Units across a day, and the height of the bars in units.
const STEP: usize = 4;
const HEIGHT: f64 = 24.0;

/// The messages of each of these days.
pub(super) fn by_day<'d>(
    days: impl Iterator<Item = &'d UserDay>,
    (first, last): (i64, i64),
) -> Vec<UserCounts> {
    let length = usize::try_from(last - first + 1).unwrap_or_default();
    let mut all = vec![UserCounts::default(); length];
    for day in days {
        let at = usize::try_from(day.day - first);
        if let (Some(sum), UserDayCount::Messages(counts)) =
            (at.ok().and_then(|at| all.get_mut(at)), &day.count)
        {
            add(sum, *counts);
        }
    }
    all
}

/// The sum of some days.
pub(super) fn total(days: &[UserCounts]) -> UserCounts {
    let mut total = UserCounts::default();
    days.iter().for_each(|day| add(&mut total, *day));
    total
}

fn add(sum: &mut UserCounts, more: UserCounts) {
    sum.messages += more.messages;
    sum.flagged += more.flagged;
    sum.blocked += more.blocked;
}

/// Finds by type from this day on, the most frequent first.
pub(super) fn types<'d>(days: impl Iterator<Item = &'d UserDay>, from: i64) -> Vec<TypeCount> {
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for day in days.filter(|day| day.day >= from) {
        if let UserDayCount::Finds { kind, count } = &day.count {
            *types.entry(kind).or_default() += count;
        }
    }
    let mut types: Vec<_> = types
        .into_iter()
        .map(|(kind, count)| TypeCount {
            kind: kind.to_owned(),
            count,
        })
        .collect();
    types.sort_by_key(|found| Reverse(found.count));
    types
}

/// The days as small bars, flagged messages on top of the others.
pub(super) fn bars(view: &View, days: &[UserCounts]) -> Markup {
    let most = days.iter().map(|day| day.messages).max();
    let most = most.unwrap_or_default();
    let scaled = |count: u64| count as f64 * HEIGHT / most.max(1) as f64;
    let label = view.p().highest_day.replace("{}", &number(most));
    html! {
        svg.days viewBox={ "0 0 " (days.len() * STEP) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (at, day) in days.iter().enumerate() {
                @if day.messages > 0 {
                    rect.s1 x=(at * STEP) y=(written(HEIGHT - scaled(day.messages))) width=(STEP - 1) height=(written(scaled(day.messages))) {}
                }
                @if day.flagged > 0 {
                    rect.s2 x=(at * STEP) y=(written(HEIGHT - scaled(day.flagged))) width=(STEP - 1) height=(written(scaled(day.flagged))) {}
                }
            }
        }
    }
}

fn written(units: f64) -> String {
    format!("{units:.1}")
}

/// How much more or less than before, in percent; None where there was nothing before.
pub(super) fn change(now: u64, before: u64) -> Option<f64> {
    (before > 0).then(|| (now as f64 - before as f64) * 100.0 / before as f64)
}

/// The change as a text, with what was before as its title.
pub(super) fn change_note(view: &View, now: u64, before: u64) -> Markup {
    let title = view.p().before.replace("{}", &number(before));
    html! {
        span.dim.small title=(title) {
            @match change(now, before) {
                Some(percent) => { @if percent >= 0.0 { "+" } (view.u().percent(percent, 0)) },
                None => "–",
            }
        }
    }
}

/// A part of a whole in percent.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 * 100.0 / whole as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::ApplicationId;

    fn day(day: i64, count: UserDayCount) -> UserDay {
        UserDay {
            day,
            application_id: ApplicationId::random(),
            user_id: "anna".to_owned(),
            count,
            last_ms: 0,
        }
    }

    fn messages(messages: u64, flagged: u64) -> UserDayCount {
        UserDayCount::Messages(UserCounts {
            messages,
            flagged,
            blocked: 0,
        })
    }

    fn finds(kind: &str, count: u64) -> UserDayCount {
        UserDayCount::Finds {
            kind: kind.to_owned(),
            count,
        }
    }

    #[test]
    fn each_day_has_its_messages_and_others_are_left_out() {
        let days = [
            day(3, messages(2, 1)),
            day(1, messages(4, 0)),
            day(3, finds("EMAILS", 9)),
            day(9, messages(7, 7)),
        ];
        let all = by_day(days.iter(), (1, 3));
        let counts: Vec<_> = all.iter().map(|one| (one.messages, one.flagged)).collect();
        assert_eq!(counts, [(4, 0), (0, 0), (2, 1)]);
        assert_eq!(total(&all).messages, 6);
    }

    #[test]
    fn types_are_summed_from_a_day_on_the_most_frequent_first() {
        let days = [
            day(3, finds("A", 1)),
            day(2, finds("B", 3)),
            day(2, finds("A", 1)),
            day(1, finds("C", 99)),
            day(3, messages(5, 5)),
        ];
        let types = types(days.iter(), 2);
        let types: Vec<_> = types.iter().map(|one| (&*one.kind, one.count)).collect();
        assert_eq!(types, [("B", 3), ("A", 2)]);
    }

    #[test]
    fn a_change_needs_something_before() {
        assert_eq!(change(5, 0), None);
        assert_eq!(change(3, 2), Some(50.0));
        assert_eq!(change(0, 4), Some(-100.0));
        assert!(share(1, 0).abs() < f64::EPSILON);
    }
}

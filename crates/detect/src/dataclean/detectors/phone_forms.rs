//! The forms in which phone numbers are written: groups of digits and the characters between and around
//! them. Finds candidates; `phone_number` decides.

use crate::chars::{is_blank, is_dash};
use crate::dataclean::Text;
use crate::dataclean::text::inline::{InlineWord, is_year, number};
use std::ops::Deref;

/// The shortest number anybody calls: six digits of a town.
const FEWEST_DIGITS: usize = 6;
const MOST_DIGITS: usize = 15;
const MOST_GROUPS: usize = 7;

/// One group of digits and what stands before it inside the number.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// Digits in it.
    pub(super) digits: usize,
    /// Value of its first digit.
    pub(super) first: u8,
    /// The separator before it; of several characters the one that says most: bracket, dash, dot, blank.
    before: char,
}

/// The groups of one number, at least one. Filled anew for each: a text has many.
pub(super) struct Groups {
    all: [Group; MOST_GROUPS],
    sizes: [usize; MOST_GROUPS],
    count: usize,
}

impl Groups {
    /// Digits in each.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes[..self.count]
    }

    /// Room for the groups of a number.
    pub(super) fn room() -> Self {
        let nothing = Group {
            digits: 0,
            first: 0,
            before: ' ',
        };
        Self {
            all: [nothing; MOST_GROUPS],
            sizes: [0; MOST_GROUPS],
            count: 0,
        }
    }

    /// Reads the groups that can belong to one number beginning with run `first`; false where they
    /// have too few digits for any.
    pub(super) fn read(&mut self, text: &Text, first: usize) -> bool {
        let (mut digits, mut whole, mut before) = (0, 0, ' ');
        self.count = 0;
        for (at, run) in text.runs().iter().enumerate().skip(first).take(MOST_GROUPS) {
            digits += run.digits();
            if digits > MOST_DIGITS {
                break;
            }
            let first = text.original().as_bytes()[run.start] - b'0';
            self.push(Group {
                digits: run.digits(),
                first,
                before,
            });
            whole = digits;
            match text.gap(at).and_then(joint) {
                Some(separator) => before = separator,
                None => break,
            }
        }
        whole >= FEWEST_DIGITS
    }

    fn push(&mut self, group: Group) {
        self.all[self.count] = group;
        self.sizes[self.count] = group.digits;
        self.count += 1;
    }
}

impl Deref for Groups {
    type Target = [Group];

    fn deref(&self) -> &[Group] {
        &self.all[..self.count]
    }
}

/// What a gap of one to three characters says, when it can stand inside a phone number.
fn joint(gap: &str) -> Option<char> {
    const LONGEST: usize = 3;
    const SIGNS: [char; 4] = [')', '-', '.', ' '];
    let (mut most, mut dot, mut count) = (SIGNS.len(), false, 0);
    for c in gap.chars().take(LONGEST + 1) {
        let place = match c {
            '(' | ')' => 0,
            '.' => 2,
            _ if is_dash(c) => 1,
            _ if is_blank(c) => 3,
            _ => return None,
        };
        (most, dot, count) = (most.min(place), dot || place == 2, count + 1);
    }
    let lone_dot = dot && count > 1;
    SIGNS
        .get(most)
        .copied()
        .filter(|_| count <= LONGEST && !lone_dot)
}

/// A `+` directly before the run,.
pub(super) fn has_plus(text: &Text, first: usize) -> bool {
    text.before(text.runs()[first].start) == Some('+')
}

/// "+44 (0)20 …": a zero that is dialled inside the country only.
pub(super) fn trunk_zero(groups: &[Group]) -> bool {
    opens_with_zero(groups) && groups[1].digits == 1
}

/// The same, or with the code of the town: "+44 (020) …".
pub(super) fn opens_with_zero(groups: &[Group]) -> bool {
    let second = groups.get(1);
    second.is_some_and(|group| group.first == 0 && group.before == ')')
}

/// With the `+` or opening bracket before it and an extension such as "x123" behind it.
pub(super) fn borders(text: &Text, first: usize, last: usize) -> (usize, usize) {
    let (start, end) = (text.runs()[first].start, text.runs()[last].end);
    let bracket = text
        .gap(first)
        .is_some_and(|gap| last > first && gap.starts_with(')'));
    let opened = has_plus(text, first) || bracket && text.before(start) == Some('(');
    (start - usize::from(opened), end + extension(text, end))
}

/// Bytes of an extension such as "x123" glued to the number.
fn extension(text: &Text, end: usize) -> usize {
    const LONGEST: usize = 6;
    let Some(rest) = text.original()[end..].strip_prefix('x') else {
        return 0;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=LONGEST).contains(&digits) {
        digits + 1
    } else {
        0
    }
}

/// Whose national number a form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Ten digits, with or without 8 or 7 before them.
    Russia,
    /// Ten digits, with or without 1 before them.
    NorthAmerica,
}

/// How many groups make a national number, and whose, by form alone.
pub(super) fn national(text: &Text, first: usize, groups: &Groups) -> Option<(usize, Home)> {
    let sizes = groups.sizes();
    let bracket = text.before(text.runs()[first].start) == Some('(');
    let seen = |at: usize| groups.get(at).map(|group| group.before);
    if matches!(groups[0].first, 7 | 8)
        && let Some(count) = with_trunk(groups, sizes)
    {
        return Some((count, Home::Russia));
    }
    match sizes {
        [3, 3, 2, 2, ..] if seen(3) == Some('-') || bracket => Some((4, Home::Russia)),
        [3..=5, 1..=3, 2, 2, ..] if bracket && sizes[..4].iter().sum::<usize>() == 10 => {
            Some((4, Home::Russia))
        }
        [3, 7, ..] if bracket => Some((2, Home::Russia)),
        [3, 3, 4, ..] if bracket || seen(1) == seen(2) && matches!(seen(1), Some('-' | '.')) => {
            Some((3, Home::NorthAmerica))
        }
        [1, 3, 3, 4, ..] if groups[0].first == 1 && matches!(seen(3), Some('-' | '.')) => {
            Some((4, Home::NorthAmerica))
        }
        _ => None,
    }
}

/// Eleven digits from a leading 8 or 7: bare, or the trunk digit, an area and groups of two or more.
fn with_trunk(groups: &[Group], sizes: &[usize]) -> Option<usize> {
    let mut sum = 0;
    let count = sizes.iter().position(|size| {
        sum += size;
        sum >= 11
    })? + 1;
    let usual = match &sizes[..count] {
        [11] => true,
        [1, area, rest @ ..] => {
            (3..=5).contains(area)
                && !rest.is_empty()
                && rest.iter().all(|size| (2..=7).contains(size))
        }
        [4, rest @ ..] => rest.iter().all(|size| (2..=4).contains(size)),
        _ => false,
    };
    let goes_on = groups
        .get(count)
        .is_some_and(|group| matches!(group.before, '-' | '.'));
    (sum == 11 && usual && !goes_on).then_some(count)
}

/// The last run of a number that a label may call a phone: no date, no years, no odd groups, no rest
/// of a longer number.
pub(super) fn labelled(text: &Text, first: usize, groups: &Groups) -> Option<usize> {
    let sizes = groups.sizes();
    let digits: usize = sizes.iter().sum();
    let last = first + groups.len() - 1;
    let plus = has_plus(text, first);
    // "00 44 20 …" is dialled for "+44 20 …".
    let is_foreign = !plus && starts_with_zeros(text, first);
    // What begins like a Russian number must be a whole one.
    let broken = groups[0].first == 7 && plus || sizes[0] == 1 && matches!(groups[0].first, 7 | 8);
    let dashed = groups.iter().skip(1).all(|group| group.before == '-');
    let fits = match sizes {
        [8] => !is_foreign && !is_round(text, first) && !is_plain_date(text, first),
        [9] => !is_foreign && !is_round(text, first),
        [7 | 10..=12] => true,
        [13..=MOST_DIGITS] => is_foreign,
        [2, 2, 2] => dashed && !plus,
        [head, tail @ ..] => {
            let most = if is_foreign { MOST_DIGITS } else { 13 };
            let tail = if plus && trunk_zero(groups) {
                &tail[1..]
            } else {
                tail
            };
            (7..=most).contains(&digits)
                && (1..=5).contains(head)
                && !tail.is_empty()
                && tail.iter().all(|size| (2..=8).contains(size))
                && (*head > 1 || groups[0].first == 1 || is_dialled_zero(groups))
        }
        [] => false,
    };
    let inside = || first > 0 && text.gap(first - 1).and_then(joint).is_some();
    (fits && !broken && !inside() && !is_date(text, first, sizes)).then_some(last)
}

/// "0 800 123 456"; "0.1234567" is a fraction.
fn is_dialled_zero(groups: &[Group]) -> bool {
    let second = groups.get(1);
    groups[0].first == 0 && second.is_some_and(|group| group.before != '.')
}

fn starts_with_zeros(text: &Text, first: usize) -> bool {
    text.original()[text.runs()[first].start..].starts_with("00")
}

/// "reach 100000000 people".
fn is_round(text: &Text, first: usize) -> bool {
    text.values(&text.runs()[first..=first])
        .ends_with(&[0, 0, 0])
}

/// Eight digits that are a date: "20240115", "15012024".
fn is_plain_date(text: &Text, first: usize) -> bool {
    let values = text.values(&text.runs()[first..=first]);
    let is_date = |year: &[u8], month: &[u8], day: &[u8]| {
        is_year(number(year))
            && (1..=12).contains(&number(month))
            && (1..=31).contains(&number(day))
    };
    is_date(&values[..4], &values[4..6], &values[6..])
        || is_date(&values[4..], &values[2..4], &values[..2])
}

/// "2024-01-15", "15.01.2024", "2023-2024".
fn is_date(text: &Text, first: usize, sizes: &[usize]) -> bool {
    let part = |at: usize| number(&text.values(&text.runs()[first + at..=first + at]));
    let year = |at: usize| is_year(part(at));
    let day = |at: usize| (1..=31).contains(&part(at));
    match sizes {
        [4, 1 | 2, 1 | 2] => year(0) && day(1) && day(2),
        [1 | 2, 1 | 2, 4] => day(0) && day(1) && year(2),
        [4, 4] => year(0) && year(1),
        _ => false,
    }
}

/// A unit behind the number makes it an amount: "150 000 рублей", "100 000 USD".
pub(super) fn is_amount(text: &Text, end: usize) -> bool {
    const UNITS: &[&str] = &[
        "руб",
        "₽",
        "$",
        "€",
        "£",
        "тыс",
        "млн",
        "usd",
        "eur",
        "dollar",
        "евро",
        "доллар",
        "шт",
        "раз",
        "kg",
        "кг",
        "км",
    ];
    let rest = &text.original()[end..text.original().floor_char_boundary(end + 24)];
    InlineWord::lowercase(rest.trim_start_matches(is_blank)).begins_with(UNITS)
}

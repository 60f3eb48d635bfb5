//! The classes of words in amounts, dates and times, with their values. The lexicons list the forms of
//! each class; the grammars interpret sequences of them.

/// One of them. Numbers and currency signs are among them, so that a grammar sees one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A run of digits.
    Number,
    /// `$`, `€`, `₽` …
    Sign,
    /// USD, RUB …: beside a number in any case.
    Code,
    /// A code that is also a word: in capitals only.
    CapitalCode,
    /// рублей, dollars …
    Currency,
    /// A currency's word that means other things too (фунтов, pounds): needs a word that says so.
    Doubtful,
    /// копеек, cents …
    Coins,
    /// американских, US …: before a currency.
    Nation,
    /// США, стерлингов …: behind a currency.
    Tail,
    /// The "у" of "у. е.".
    Conventional,
    /// A cardinal number below a thousand.
    Numeral(u16),
    /// One and a half, and "half" itself.
    Half,
    /// "пара", "couple": two of a unit.
    Couple,
    /// A thousand and more.
    Multiplier,
    /// полмиллиона: number and multiplier in one.
    HalfMultiplier,
    /// k, m, bn: a multiplier glued to its number.
    Scale,
    /// An ordinal, in the forms that dates have.
    Ordinal(u8),
    /// The ending behind a numeral: 5th, 5-го, 90-х, 1990s.
    Suffix,
    /// A Roman numeral below 22.
    Roman,
    /// A month by its whole name, from 1.
    Month(u8),
    /// A month cut short.
    MonthShort(u8),
    /// may, march: also words of another kind.
    MonthHomonym(u8),
    /// A day of the week.
    Weekday,
    /// Cut short: only beside a date.
    WeekdayShort,
    /// летом, summer: only with a year.
    Season,
    /// год and its forms.
    Year(YearForm),
    /// век, century: behind an ordinal.
    Century,
    /// квартал: unit and part of a year.
    Quarter,
    /// The Q of Q3.
    QuarterSign,
    /// A unit of time.
    Unit(Unit),
    /// полгода, полчаса: number and unit in one.
    HalfUnit,
    /// 14-дневный, behind a numeral and a dash.
    UnitAdjective,
    /// рабочих, business: between number and unit.
    Kind,
    /// прошлый, next: what is near, seen from today.
    Relative,
    /// этот, this: before a part of time.
    This,
    /// Today and its neighbors: a date only under a cue.
    Deictic,
    /// конец, end: before a part of time, only under a cue.
    Edge,
    /// am, утра: behind a time of day.
    DayPart,
    /// T and Z of ISO 8601.
    Iso,
    /// P and PT of ISO 8601.
    Period,
    /// крайний срок, deadline.
    Deadline,
    /// A small word that stands between those of an amount or a date; kept nowhere.
    Glue,
}

/// What "год" in this form can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YearForm {
    /// года: behind a year or a number of years.
    Both,
    /// году: behind a year only.
    Name,
    /// г: behind a year; also a gram.
    Letter,
    /// лет: behind a number of years only.
    Count,
}

/// Units by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// A word in its place, in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) word: Word,
}

//! Tables in plain text: what the header of a column says is said of every cell below it. Fields are separated by bars,
//! tabs, semicolons or commas.
//!
//! Only what stands before a cell counts, and the sign right behind it, so that a growing text says the same of it.

use crate::chars::is_word_char;
use std::ops::Range;

/// The signs between fields, the surest first.
const SIGNS: [char; 4] = ['|', '\t', ';', ','];
/// A header in bytes, and how far from the beginning of its line a cell is looked for.
const LONGEST_LINE: usize = 512;
/// A field of a header, in bytes.
const LONGEST_FIELD: usize = 64;
/// Digits of a value, which no header has.
const VALUE: usize = 4;

/// The rows of all tables of a text.
pub(crate) struct Columns {
    /// In the order of the text.
    rows: Vec<Row>,
}

/// A cell under a header.
pub(crate) struct TableCell<'t> {
    pub(crate) header: &'t str,
    /// Where its row begins.
    pub(crate) row: usize,
    /// What separates it separates little else than the cells of a table.
    pub(crate) is_certain: bool,
}

struct Row {
    place: Range<usize>,
    header: Range<usize>,
    sign: char,
}

impl Columns {
    /// Reads the lines once.
    pub(crate) fn of(text: &str) -> Self {
        let mut rows = Vec::new();
        let mut table: Option<(Range<usize>, char)> = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let place = start..start + line.trim_end_matches(['\n', '\r']).len();
            start += line.len();
            let line = &text[place.clone()];
            let goes_on = |(_, sign): &(Range<usize>, char)| line.contains(*sign);
            match table.take().filter(goes_on) {
                Some((header, sign)) => {
                    rows.push(Row {
                        place,
                        header: header.clone(),
                        sign,
                    });
                    table = Some((header, sign));
                }
                None => table = header_sign(line).map(|sign| (place, sign)),
            }
        }
        Self { rows }
    }

    /// The cell that begins with a value at a byte; `end` is where the value's first signs end.
    pub(crate) fn cell<'t>(&self, text: &'t str, at: usize, end: usize) -> Option<TableCell<'t>> {
        let next = self.rows.partition_point(|row| row.place.start <= at);
        let near = |row: &&Row| at < row.place.end && at - row.place.start <= LONGEST_LINE;
        let row = self.rows[..next].last().filter(near)?;
        let before = &text[row.place.start..at];
        let cell = before.rfind(row.sign);
        let lead = &before[cell.map_or(0, |cell| cell + 1)..];
        let is_first = cell.is_none() && !text[end..].starts_with(row.sign);
        if lead.contains(is_word_char) || is_first {
            return None;
        }
        let column = before.matches(row.sign).count();
        let header = text[row.header.clone()].split(row.sign).nth(column)?;
        Some(TableCell {
            header: header.trim(),
            row: row.place.start,
            is_certain: row.sign != ',',
        })
    }
}

/// What separates the fields of a line that may be a header: several short ones without values.
fn header_sign(line: &str) -> Option<char> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let sign = SIGNS.into_iter().find(|sign| line.contains(*sign))?;
    let is_short = line
        .split(sign)
        .all(|field| field.trim().len() <= LONGEST_FIELD);
    let is_value = |part: &str| part.len() >= VALUE;
    let has_value = is_short && line.split(|c: char| !c.is_ascii_digit()).any(is_value);
    (is_short && !has_value && line.contains(is_word_char)).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'t>(text: &'t str, value: &str) -> Option<&'t str> {
        let at = text.rfind(value)?;
        let cell = Columns::of(text).cell(text, at, at + value.len());
        cell.map(|cell| cell.header)
    }

    #[test]
    fn a_header_holds_for_all_rows_of_its_table() {
        for (text, value, expected) in [
            ("ИНН;КПП\n7752601811;770701001", "770701001", Some("КПП")),
            ("ИНН;КПП\n7752601811;770701001", "7752601811", Some("ИНН")),
            ("name\tcvc\nAnn\t123\nBob\t456\n", "456", Some("cvc")),
            (
                "| Имя | КПП |\n|---|---|\n| Я | 770701001 |",
                "770701001",
                Some("КПП"),
            ),
            (
                "name,kpp\r\n\"Ann\",\"770701001\"",
                "770701001",
                Some("kpp"),
            ),
            ("имя,кпп\nЯ,код 770701001", "770701001", None),
            ("имя,кпп\n\nЯ,770701001", "770701001", None),
            ("имя,кпп\nЯ,1,770701001", "770701001", None),
            ("кпп,имя\n770701001 и", "770701001", None),
            ("Я,770701001", "770701001", None),
        ] {
            assert_eq!(header(text, value), expected, "{text:?}");
        }
    }
}

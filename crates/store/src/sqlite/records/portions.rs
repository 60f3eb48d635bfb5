//! How many rows an insert has.

use std::ops::Range;

/// The most rows in one statement. Statements have this many rows or a smaller power of two, so that a few
/// prepared statements serve every batch.
const ROWS: usize = 64;

/// The rows in portions of a power of two.
pub(super) fn portions(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = (rows - start).min(ROWS);
        let size = (left > 0).then(|| 1 << left.ilog2())?;
        start += size;
        Some(start - size..start)
    })
}

#[cfg(test)]
mod tests {
    use super::portions;

    #[test]
    fn portions_cover_every_row_once() {
        for rows in 0..300 {
            let mut next = 0;
            for portion in portions(rows) {
                assert_eq!(portion.start, next);
                assert!(portion.len().is_power_of_two() && portion.len() <= super::ROWS);
                next = portion.end;
            }
            assert_eq!(next, rows);
        }
    }
}

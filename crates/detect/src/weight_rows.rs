//! The weights of hashed features: a table of rows, one row of one-byte weights for each value of the upper bits
//! of a hash, one column for each class. The places of rows are as good as random, so what they cost is memory:
//! the sum over many of them is a loop without branches, in which the processor waits for many rows at once.

/// Columns of a row.
pub(crate) const COLUMNS: usize = 8;
/// Weights that 16 bits can sum up whatever they are.
const MOST: usize = i16::MAX as usize / (i8::MIN.unsigned_abs() as usize);

/// A table of rows over the bytes of a data file.
#[derive(Clone, Copy)]
pub(crate) struct WeightRows<'a> {
    bits: u32,
    rows: &'a [[u8; COLUMNS]],
}

impl<'a> WeightRows<'a> {
    /// Reads a table of `1 << bits` rows; None where the bytes are none.
    pub(crate) fn new(bits: u32, bytes: &'a [u8]) -> Option<Self> {
        let (rows, rest) = bytes.as_chunks();
        let is_whole = (1..=24).contains(&bits) && rows.len() == 1 << bits && rest.is_empty();
        is_whole.then_some(Self { bits, rows })
    }

    /// The sum of the rows of these hashes.
    pub(crate) fn sum(&self, hashes: &[u32]) -> [i32; COLUMNS] {
        let mut sums = [0_i32; COLUMNS];
        for hashes in hashes.chunks(MOST) {
            let mut part = [0_i16; COLUMNS];
            for hash in hashes {
                let row = self.rows.get((hash >> (32 - self.bits)) as usize);
                let row = row.unwrap_or(&[0; COLUMNS]);
                for column in 0..COLUMNS {
                    part[column] += i16::from(row[column] as i8);
                }
            }
            for column in 0..COLUMNS {
                sums[column] += i32::from(part[column]);
            }
        }
        sums
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn many_of_the_lowest_and_of_the_highest_weights_are_summed_up() {
        let bytes: Vec<u8> = [[0x80; COLUMNS], [0x7f; COLUMNS]].concat();
        let rows = WeightRows::new(1, &bytes).unwrap();
        for count in [0, 1, 254, 255, 256, 257, 1000] {
            assert_eq!(rows.sum(&vec![0; count]), [-128 * count as i32; COLUMNS]);
            assert_eq!(
                rows.sum(&vec![1 << 31; count]),
                [127 * count as i32; COLUMNS]
            );
        }
    }

    #[test]
    fn a_table_has_all_of_its_rows() {
        for (bits, bytes) in [(1, 15), (1, 17), (0, 8), (2, 16), (25, 16)] {
            assert!(WeightRows::new(bits, &vec![0; bytes]).is_none());
        }
    }
}

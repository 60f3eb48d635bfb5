//! Which element of a list a number names. Most clients compare numbers and not their spelling, so `1e0` and `1.0` are 1.

/// Above it, readers that keep numbers as floating point take several for one.
const MOST: f64 = (1u64 << 53) as f64;

/// The index that a JSON value stands for; None where it is none.
pub(crate) fn index_of(json: &str) -> Option<u64> {
    let number: f64 = serde_json::from_str(json).ok()?;
    let is_index = number.trunc() == number && (0.0..MOST).contains(&number);
    is_index.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::index_of;

    #[test]
    fn an_index_is_a_number_however_it_is_written() {
        for (json, expected) in [
            ("0", Some(0)),
            ("1", Some(1)),
            ("1.0", Some(1)),
            ("1e0", Some(1)),
            ("10E-1", Some(1)),
            ("-0", Some(0)),
            ("9007199254740991", Some((1 << 53) - 1)),
            ("9007199254740992", None),
            ("1.5", None),
            ("-1", None),
            ("1e400", None),
            ("\"1\"", None),
            ("[1]", None),
            ("true", None),
            ("", None),
        ] {
            assert_eq!(index_of(json), expected, "{json}");
        }
    }
}

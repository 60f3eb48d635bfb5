//! VIN (ISO 3779): seventeen digits and capital letters without I, O and Q. Its ninth sign is a check digit in North
//! America and in China; elsewhere any sign may stand there.

/// Signs of a number.
pub(crate) const LENGTH: usize = 17;
const CHECK: usize = 8;
const WEIGHTS: [u32; LENGTH] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

/// Whether signs can be a number at all: its length and its signs, the last four of them digits.
pub(crate) fn has_form(signs: &[u8]) -> bool {
    signs.len() == LENGTH
        && signs.iter().all(|sign| value(*sign).is_some())
        && signs[LENGTH - 4..].iter().all(u8::is_ascii_digit)
}

/// Whether the ninth sign checks the others.
pub(crate) fn is_right(signs: &[u8]) -> bool {
    let values: Option<Vec<u32>> = signs.iter().map(|sign| value(*sign)).collect();
    let sum = values.map(|values| {
        let weighed = values.iter().zip(WEIGHTS);
        weighed.map(|(value, weight)| value * weight).sum::<u32>()
    });
    let expected = sum.map(|sum| match sum % 11 {
        10 => b'X',
        rest => b'0' + rest as u8,
    });
    has_form(signs) && expected == Some(signs[CHECK])
}

fn value(sign: u8) -> Option<u32> {
    const ROWS: [&[u8]; 9] = [
        b"AJ", b"BKS", b"CLT", b"DMU", b"ENV", b"FW", b"GPX", b"HY", b"RZ",
    ];
    if sign.is_ascii_digit() {
        return Some(u32::from(sign - b'0'));
    }
    let row = ROWS.iter().position(|row| row.contains(&sign))?;
    u32::try_from(row + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_sign_at_a_weighed_place_is_refused() {
        for valid in ["1M8GDM9AXKP042788", "5GZCZ43D13S812715"] {
            assert!(is_right(valid.as_bytes()), "{valid}");
            for at in (0..LENGTH).filter(|at| *at != CHECK) {
                let mut other = valid.as_bytes().to_vec();
                for sign in b"0123456789" {
                    other[at] = *sign;
                    let is_same = value(*sign) == value(valid.as_bytes()[at]);
                    assert_eq!(is_right(&other), is_same, "{valid} at {at}");
                }
            }
        }
        assert!(!is_right(b"") && !is_right(b"1M8GDM9AXKP04278O") && !has_form(&[b'1'; 16]));
    }
}

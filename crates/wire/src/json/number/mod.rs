//! A number where any value may stand, such as an argument of a tool: the digits that its readers show (CONTRACT 15,
//! 42), since `4.111111111111111e15` and `4111111111111111.0` are `4111111111111111` to most of them.

pub(super) mod name;

use std::borrow::Cow;

/// A number of fewer digits identifies nobody.
const FEWEST_DIGITS: usize = 8;
/// The most digits to which an exponent is written out, unless more are written: no number that is looked for is as
/// long, and the text of a body stays within two times its bytes.
const MOST_DIGITS: usize = 22;

/// The number written out, without an exponent and without zeros that say nothing; None where few digits are written.
/// Digits behind a long whole part stand apart from it, since it is a number by itself.
pub(super) fn long_number(json: &str) -> Option<Cow<'_, str>> {
    let mantissa = json.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    if digits.take(FEWEST_DIGITS).count() < FEWEST_DIGITS {
        return None;
    }
    Some(match json.contains(['.', 'e', 'E']) {
        true => written_out(json).map_or(json.into(), Cow::Owned),
        false => json.into(),
    })
}

fn written_out(json: &str) -> Option<String> {
    let (mantissa, exponent) = match json.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (json, 0),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let written = format!("{whole}{fraction}");
    let digits = written.trim_start_matches('0');
    let leading = written.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    // Digits before the point; zeros behind it, if negative.
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let point = point.checked_sub(i32::try_from(leading).ok()?)?;
    let (before, zeros) = (
        usize::try_from(point),
        usize::try_from(point.checked_neg()?),
    );
    let length = before.unwrap_or(0).max(zeros.unwrap_or(0) + digits.len());
    if length > digits.len().max(MOST_DIGITS) {
        return None;
    }
    Some(match before {
        Ok(0) | Err(_) => format!("{sign}0.{}{digits}", "0".repeat(zeros.unwrap_or(0))),
        Ok(before) if before < digits.len() => {
            let (whole, fraction) = digits.split_at(before);
            let apart = if before < FEWEST_DIGITS { "" } else { " " };
            format!("{sign}{whole}{apart}.{fraction}")
        }
        Ok(before) => format!("{sign}{digits}{}", "0".repeat(before - digits.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::long_number;

    #[test]
    fn a_long_number_has_the_digits_that_readers_show() {
        for (json, expected) in [
            ("4111111111111111", Some("4111111111111111")),
            ("-12345678", Some("-12345678")),
            ("4111111111111111.0", Some("4111111111111111")),
            ("4.111111111111111e15", Some("4111111111111111")),
            ("4.111111111111111E+15", Some("4111111111111111")),
            ("41111111111111110e-1", Some("4111111111111111")),
            ("0.0004111111111111111e4", Some("4.111111111111111")),
            ("0.04111111111111111e17", Some("4111111111111111")),
            ("4111111111111111.0000000", Some("4111111111111111")),
            ("41111111111111110000000e-7", Some("4111111111111111")),
            ("0.0000004111111111111111e23", Some("41111111111111110")),
            ("0.0000004111111111111111e22", Some("4111111111111111")),
            (
                "4111111111111111000000000000000000000000e-24",
                Some("4111111111111111"),
            ),
            ("-0.000000000", Some("0")),
            ("100000000", Some("100000000")),
            ("100000000.0", Some("100000000")),
            ("-4.1111111e15", Some("-4111111100000000")),
            ("4e15", None),
            ("55.7558123", Some("55.7558123")),
            ("1234567.8", Some("1234567.8")),
            ("4111111111111111.5", Some("4111111111111111 .5")),
            ("-12345678.90", Some("-12345678 .9")),
            ("4.1111111111111115e15", Some("4111111111111111 .5")),
            (
                "4111111111111111.1234567890123456789",
                Some("4111111111111111 .1234567890123456789"),
            ),
            ("0.00000001", Some("0.00000001")),
            ("1234567", None),
            ("1.5", None),
            ("0e9", None),
            ("1e-9", None),
            ("1e400", None),
            ("1.2345678e-40", Some("1.2345678e-40")),
            ("1.2345678e99999999999", Some("1.2345678e99999999999")),
            ("", None),
        ] {
            assert_eq!(long_number(json).as_deref(), expected, "{json}");
        }
        let long = "7".repeat(100_000);
        assert_eq!(long_number(&long).as_deref(), Some(&*long));
    }
}

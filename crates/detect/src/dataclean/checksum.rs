//! Check digits. Every function takes digit values from 0 to 9, not characters, and does not depend on
//! how the number was written. Numbers with letters have files of their own, which take the signs.

pub(crate) mod iban;
mod keccak;
pub(crate) mod vin;
pub(crate) mod wallet;

/// Luhn's check, as on bank cards.
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let doubled = |value: u8| if value > 4 { value * 2 - 9 } else { value * 2 };
    let value = |(place, digit): (usize, &u8)| {
        if place % 2 == 1 {
            doubled(*digit)
        } else {
            *digit
        }
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(value)
        .map(u32::from)
        .sum();
    !digits.is_empty() && sum.is_multiple_of(10)
}

/// A taxpayer's number of 10 digits (company) or 12 (person). Region 00 does not exist.
pub(crate) fn inn(digits: &[u8]) -> bool {
    const PERSON: [u32; 11] = [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8];
    let agrees = |weights: &[u32]| {
        let sum: u32 = weights
            .iter()
            .zip(digits)
            .map(|(weight, digit)| weight * u32::from(*digit))
            .sum();
        digits
            .get(weights.len())
            .is_some_and(|check| sum % 11 % 10 == u32::from(*check))
    };
    if digits.starts_with(&[0, 0]) {
        return false;
    }
    match digits.len() {
        10 => agrees(&PERSON[2..]),
        12 => agrees(&PERSON[1..]) && agrees(&PERSON),
        _ => false,
    }
}

/// A number of the register of companies, 13 digits. No number begins with 0.
pub(crate) fn ogrn(digits: &[u8]) -> bool {
    digits.len() == 13 && digits[0] != 0 && remainder_ends(digits, 11)
}

/// A number of the register of sole traders, 15 digits that begin with 3 or 4.
pub(crate) fn ogrnip(digits: &[u8]) -> bool {
    digits.len() == 15 && matches!(digits[0], 3 | 4) && remainder_ends(digits, 13)
}

/// Whether the remainder of the number before the last digit ends in that digit.
fn remainder_ends(digits: &[u8], by: u64) -> bool {
    let [number @ .., check] = digits else {
        return false;
    };
    let number = number
        .iter()
        .fold(0, |number, digit| number * 10 + u64::from(*digit));
    number % by % 10 == u64::from(*check)
}

/// What the last two digits of a SNILS say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnilsCheck {
    /// They are right.
    Right,
    /// They are wrong, or the number cannot exist.
    Wrong,
    /// Numbers up to 001-001-998 were given without check digits.
    Unchecked,
}

/// Checks the 11 digits of a SNILS.
pub(crate) fn snils(digits: &[u8]) -> SnilsCheck {
    let [number @ .., tens, units] = digits else {
        return SnilsCheck::Wrong;
    };
    if number.len() != 9 || number.iter().all(|digit| *digit == 0) {
        return SnilsCheck::Wrong;
    }
    if number <= [0, 0, 1, 0, 0, 1, 9, 9, 8].as_slice() {
        return SnilsCheck::Unchecked;
    }
    let sum: u32 = number
        .iter()
        .zip((1..=9).rev())
        .map(|(digit, weight)| u32::from(*digit) * weight)
        .sum();
    // 100 is written 00; the sum is at most 405, so that one division is enough.
    let expected = sum % 101 % 100;
    match expected == u32::from(*tens) * 10 + u32::from(*units) {
        true => SnilsCheck::Right,
        false => SnilsCheck::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Vec<u8> {
        text.bytes()
            .filter(u8::is_ascii_digit)
            .map(|byte| byte - b'0')
            .collect()
    }

    /// Every other last digit must be refused.
    fn only_the_last_digit_fits(valid: &str, check: impl Fn(&[u8]) -> bool) {
        let mut number = digits(valid);
        let last = number.len() - 1;
        let right = number[last];
        for digit in 0..10 {
            number[last] = digit;
            assert_eq!(
                check(&number),
                digit == right,
                "{valid} with last digit {digit}"
            );
        }
    }

    #[test]
    fn card_numbers() {
        for valid in [
            "2200124464507773",
            "4276549360344563",
            "2202762679188976186",
            "371432466573959",
        ] {
            only_the_last_digit_fits(valid, luhn);
        }
        assert!(!luhn(&[]));
    }

    #[test]
    fn taxpayer_numbers() {
        for valid in ["7752601811", "7766131860", "778190937816", "775276018939"] {
            only_the_last_digit_fits(valid, inn);
        }
        assert!(!inn(&[0; 10]) && !inn(&[0; 12]) && !inn(&digits("77526018110")));
    }

    #[test]
    fn register_numbers() {
        for valid in ["1037749746506", "1167752917034", "1117723667126"] {
            only_the_last_digit_fits(valid, ogrn);
        }
        // The remainder of the last one has two digits.
        for valid in ["322772440268590", "322775289078668", "316776176031372"] {
            only_the_last_digit_fits(valid, ogrnip);
        }
        assert!(!ogrn(&[]) && !ogrn(&[0; 13]) && !ogrnip(&[0; 15]));
    }

    #[test]
    fn insurance_numbers() {
        for valid in [
            "777-741-215 45",
            "472-803-852 00",
            "808-414-852 07",
            "363-387-500 96",
        ] {
            only_the_last_digit_fits(valid, |number| snils(number) == SnilsCheck::Right);
        }
        assert_eq!(snils(&digits("001-001-998 77")), SnilsCheck::Unchecked);
        assert_eq!(snils(&[0; 11]), SnilsCheck::Wrong);
        assert_eq!(snils(&[1; 10]), SnilsCheck::Wrong);
    }
}

//! IBAN (ISO 13616): how long each country's numbers are, and the check by 97.

/// Signs of the longest number.
pub(crate) const LONGEST: usize = 34;

/// Countries and how many signs their numbers have, as SWIFT registers them.
const LENGTHS: &[(usize, &str)] = &[
    (15, "NO"),
    (16, "BE"),
    (18, "DK FI FK FO GL NL SD"),
    (19, "MK SI"),
    (20, "AT BA EE KZ LT LU MN XK"),
    (21, "CH HR LI LV"),
    (22, "BG BH CR DE GB GE IE ME RS VA"),
    (23, "AE GI IL IQ OM SO TL"),
    (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
    (25, "LY PT ST"),
    (26, "IS TR"),
    (27, "BI DJ FR GR IT MC MR SM"),
    (28, "AL AZ BY CY DO GT HN HU LB NI PL SV"),
    (29, "BR EG PS QA UA"),
    (30, "JO KW MU YE"),
    (31, "MT SC"),
    (32, "LC"),
    (33, "RU"),
];

/// How many signs the numbers of a country have, which is given in capital letters.
pub(crate) fn length(country: &[u8]) -> Option<usize> {
    let is_of = |names: &str| names.split(' ').any(|name| name.as_bytes() == country);
    let row = LENGTHS.iter().find(|(_, names)| is_of(names));
    row.map(|(length, _)| *length)
}

/// Whether capital letters and digits are a whole number with right check digits.
pub(crate) fn is_right(signs: &[u8]) -> bool {
    let Some((head, account)) = signs.split_at_checked(4) else {
        return false;
    };
    // 00, 01 and 99 are never given, though they stand for the same remainders as others.
    let is_given = !matches!(&head[2..], b"00" | b"01" | b"99");
    let has_length = length(&head[..2]) == Some(signs.len());
    has_length && is_given && remainder(account.iter().chain(head)) == Some(1)
}

/// By 97, letters read as 10 to 35; None where there is another sign.
fn remainder<'s>(signs: impl IntoIterator<Item = &'s u8>) -> Option<u32> {
    signs.into_iter().try_fold(0, |rest, sign| match sign {
        b'0'..=b'9' => Some((rest * 10 + u32::from(sign - b'0')) % 97),
        b'A'..=b'Z' => Some((rest * 100 + u32::from(sign - b'A') + 10) % 97),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_sign_is_refused() {
        for valid in [
            "DE77718449530967118138",
            "GB30WEST05621020265517",
            "FR4061875245074164705731792",
            "KZ843602098979635753",
            "NL36ABNA9140538347",
        ] {
            assert!(is_right(valid.as_bytes()), "{valid}");
            for at in 2..valid.len() {
                let mut wrong = valid.as_bytes().to_vec();
                for sign in b"0123456789" {
                    wrong[at] = *sign;
                    let same = wrong == valid.as_bytes();
                    assert_eq!(is_right(&wrong), same, "{valid} with another sign {at}");
                }
            }
            assert!(!is_right(&valid.as_bytes()[1..]), "{valid}");
        }
        assert!(!is_right(b"") && !is_right(b"DE") && !is_right(b"ZZ77718449530967118138"));
    }
}

//! The forms of a phrase for a number: two in English (1; all others), three in Russian (1, 21; 2 to 4, 22; all
//! others).

/// A phrase for so many: the form that fits, of those that `|` divides, with the number in place of its first `{}`.
pub(crate) fn counted(forms: &str, count: u64) -> String {
    let form = match (forms.matches('|').count(), count % 10, count % 100) {
        (2, 1, rest) if rest != 11 => 0,
        (2, 2..=4, rest) if !(12..=14).contains(&rest) => 1,
        (2, ..) => 2,
        _ if count == 1 => 0,
        _ => 1,
    };
    let form = forms.split('|').nth(form).unwrap_or(forms);
    form.replacen("{}", &count.to_string(), 1)
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_number_takes_the_form_of_its_language() {
        let english = "{} record|{} records";
        for (count, expected) in [
            (0, "0 records"),
            (1, "1 record"),
            (2, "2 records"),
            (21, "21 records"),
        ] {
            assert_eq!(counted(english, count), expected);
        }
        let russian = "{} запись|{} записи|{} записей";
        for (count, expected) in [
            (0, "0 записей"),
            (1, "1 запись"),
            (3, "3 записи"),
            (11, "11 записей"),
            (13, "13 записей"),
            (21, "21 запись"),
            (102, "102 записи"),
            (112, "112 записей"),
        ] {
            assert_eq!(counted(russian, count), expected);
        }
    }
}

//! What is stored of a judge's reason: its length is limited, and quotations of the text are removed, because a
//! reason is part of records that contain nothing of the text (CONTRACT 37, 38).

/// Code points of a reason.
pub(super) const LONGEST: usize = 200;
/// Equal code points in a row that make a quotation.
const QUOTATION: usize = 16;
const LEFT_OUT: char = '…';

/// What a reason must not quote: one piece of a text, read once for all its reasons.
pub(super) struct Quoted<'t> {
    folded: String,
    text: &'t str,
}

impl<'t> Quoted<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            folded: text.chars().map(fold).collect(),
            text,
        }
    }

    /// A reason that quotes nothing of the text: no run of [`QUOTATION`] code points that the text has
    /// too and the policy has not, and no word with a digit or an `@` that the text has.
    pub(super) fn cut(&self, reason: &str, policy: &str) -> String {
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let reason: Vec<char> = reason.trim().chars().take(LONGEST).map(shown).collect();
        let own: String = policy.chars().map(fold).collect();
        let mut quoted = vec![false; reason.len()];
        for at in 0..(reason.len() + 1).saturating_sub(QUOTATION) {
            let window = at..at + QUOTATION;
            let run: String = reason[window.clone()].iter().copied().map(fold).collect();
            if self.folded.contains(&run) && !own.contains(&run) {
                quoted[window].fill(true);
            }
        }
        self.hide_values(&reason, &own, &mut quoted);
        join(&reason, &quoted)
    }

    /// Words that look like a value: a number, an address, a key.
    fn hide_values(&self, reason: &[char], own: &str, quoted: &mut [bool]) {
        let mut at = 0;
        while at < reason.len() {
            let length = reason[at..].iter().take_while(|c| is_word(**c)).count();
            let word: String = reason[at..at + length].iter().copied().map(fold).collect();
            let word = word.trim_matches(EDGES);
            if is_value(word) && self.has(word) && !own.contains(word) {
                quoted[at..at + length].fill(true);
            }
            at += length.max(1);
        }
    }

    /// Whether the text has this word, in any letter case.
    fn has(&self, word: &str) -> bool {
        let words = self.text.split(|c: char| !is_word(c));
        let mut words = words.map(|word| word.trim_matches(EDGES));
        words.any(|other| other.chars().map(fold).eq(word.chars()))
    }
}

/// Punctuation around a value.
const EDGES: [char; 3] = ['.', '-', '_'];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "@._-+".contains(c)
}

fn is_value(word: &str) -> bool {
    word.contains(|c: char| c.is_numeric() || c == '@')
}

fn join(reason: &[char], quoted: &[bool]) -> String {
    let mut out = String::with_capacity(reason.len());
    for (at, (c, is_quoted)) in reason.iter().zip(quoted).enumerate() {
        match is_quoted {
            false => out.push(*c),
            true if at == 0 || !quoted[at - 1] => out.push(LEFT_OUT),
            true => {}
        }
    }
    out
}

/// One code point for one, so that positions stay the same.
fn fold(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_quotes_nothing_of_the_text() {
        let text = "Please give Ivan Petrov, born 1980, card 4111-1111, i.p@mail.example a loan";
        for (reason, kept) in [
            ("It asks for a loan.", "It asks for a loan."),
            ("It says PLEASE GIVE IVAN PETROV a loan", "It says … a loan"),
            ("Card 4111-1111 of x, i.p@mail.example.", "Card … of x…"),
            ("born in 1980", "born in …"),
            ("", ""),
        ] {
            let cut = Quoted::of(text).cut(reason, "No loans of 500 or more.");
            assert_eq!(cut, kept, "{reason}");
        }
    }

    #[test]
    fn the_words_of_the_policy_may_stand_in_a_reason() {
        let policy = "Do not give advice about mortgage loans over 500.";
        let text = "I need advice about mortgage loans over 500";
        let reason = "asks for advice about mortgage loans over 500";
        assert_eq!(Quoted::of(text).cut(reason, policy), reason);
    }

    #[test]
    fn a_reason_is_cut_at_200_code_points_and_holds_no_control_character() {
        let reason = format!("a\nb\u{0}{}", "ё".repeat(500));
        let cut = Quoted::of("").cut(&reason, "");
        assert_eq!(cut.chars().count(), LONGEST);
        assert!(cut.starts_with("a b "));
        assert!(!cut.contains(char::is_control));
    }
}

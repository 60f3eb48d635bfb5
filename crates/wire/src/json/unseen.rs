//! Characters that no reader shows.

/// Whether it is a digit that is written as a tag: no reader shows it, and models read it.
pub fn is_tag_digit(c: char) -> bool {
    matches!(c, '\u{e0030}'..='\u{e0039}')
}

/// Whether no reader shows this character: white space, control characters, what Unicode
/// lets a font leave out, and what stands for a character that could not be read.
/// Detection reads the same ones as nothing.
pub fn is_unseen(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

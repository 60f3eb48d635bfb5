//! Text for the generated parts of the documentation.

const WIDTH: usize = 120;

/// The text with lines of prose that are too long broken between words; what follows in an item of a list is
/// indented. Tables, headings, pictures, comments and fenced blocks stay as they are.
pub fn wrapped(text: &str) -> String {
    let mut is_code = false;
    let mut page = String::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with(['|', '#', '!', '<', '`']) {
            page.push_str(line);
        } else {
            wrap(line, &mut page);
        }
        page.push('\n');
    }
    page
}

fn wrap(line: &str, page: &mut String) {
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let mut width = 0;
    for (number, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && width + 1 + length > WIDTH {
            page.push('\n');
            page.push_str(indent);
            width = indent.len();
        } else if number > 0 {
            page.push(' ');
            width += 1;
        }
        page.push_str(word);
        width += length;
    }
}

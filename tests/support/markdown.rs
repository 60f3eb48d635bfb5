//! Text for the generated parts of the documentation.

use std::path::Path;

const WIDTH: usize = 120;

/// Compares what a page holds between the comments of a part with `expected`, or writes it where `UPDATE_DOCS` is
/// set.
#[track_caller]
pub fn generated(root: &Path, page: &str, part: &str, expected: &str) {
    let path = root.join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- /{part} -->"));
    let (head, rest) = text.split_once(&begin).expect("a page with that part");
    let (found, tail) = rest.split_once(&end).expect("an end of that part");
    let expected = format!("\n{}\n\n", wrapped(expected.trim()).trim());
    if found == expected {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_DOCS").is_some(),
        "{page}: the part `{part}` is out of date; the same test with UPDATE_DOCS=1 writes it:\n{expected}"
    );
    std::fs::write(path, format!("{head}{begin}{expected}{end}{tail}")).unwrap();
}

/// The text with lines of prose that are too long broken between words; what follows in an item of a list is
/// indented. Tables, headings, pictures, comments and fenced blocks stay as they are.
pub fn wrapped(text: &str) -> String {
    let mut is_code = false;
    let mut page = String::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with(['|', '#', '!', '<']) {
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

//! Splits a text into overlapping pieces of a bounded size, so that whatever lies on a border is whole in one
//! of them.

/// The part of a piece that the next one has too.
const OVERLAP: usize = 16;

/// The pieces of the first `most` bytes, each of at most `size` bytes (and at least one character), and
/// whether that is the whole text.
pub(super) fn chunks(text: &str, size: usize, most: usize) -> (Vec<&str>, bool) {
    let head = &text[..text.floor_char_boundary(most)];
    let (mut pieces, mut from) = (Vec::new(), 0);
    loop {
        let end = head.floor_char_boundary(from + size);
        pieces.push(&head[from..end]);
        if end == head.len() {
            return (pieces, head.len() == text.len());
        }
        from = head.floor_char_boundary(end - size / OVERLAP).max(from + 1);
        from = head.ceil_char_boundary(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_text_and_overlap() {
        let text = "абвгд ".repeat(300);
        let (pieces, is_whole) = chunks(&text, 160, 10_000);
        assert!(is_whole && pieces.iter().all(|piece| piece.len() <= 160));
        let mut end = 0;
        for piece in &pieces {
            let start = piece.as_ptr() as usize - text.as_ptr() as usize;
            assert!(end == 0 || start < end, "{start} {end}");
            end = start + piece.len();
        }
        assert_eq!(end, text.len());
    }

    #[test]
    fn what_is_beyond_the_bound_is_told() {
        let text = "я".repeat(100);
        let (pieces, is_whole) = chunks(&text, 64, 151);
        assert!(!is_whole);
        let last = pieces
            .last()
            .map(|piece| piece.as_ptr() as usize + piece.len());
        assert_eq!(last, Some(text.as_ptr() as usize + 150));
        assert_eq!(chunks("", 64, 64), (vec![""], true));
        assert_eq!(chunks("ab", 64, 64), (vec!["ab"], true));
    }
}

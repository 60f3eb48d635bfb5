//! A message on its way through the analysis, with the places where its parts meet (CONTRACT 42).

use monitor_detect::Message;
use std::sync::Arc;

/// A message, and where a line feed stands between two of its parts, in bytes.
#[derive(Default)]
pub(crate) struct OwnedMessage {
    pub(crate) text: Arc<str>,
    pub(crate) part_breaks: Vec<usize>,
}

impl OwnedMessage {
    /// The message, as the engine takes it.
    pub(super) fn borrow(&self) -> Message<'_> {
        Message {
            text: &self.text,
            part_breaks: &self.part_breaks,
        }
    }

    /// The text without the breaks between its parts; None where it has none.
    pub(super) fn joined(&self) -> Option<String> {
        if self.part_breaks.is_empty() {
            return None;
        }
        let mut joined = String::with_capacity(self.text.len());
        let mut from = 0;
        for place in &self.part_breaks {
            joined.push_str(&self.text[from..*place]);
            from = place + 1;
        }
        joined.push_str(&self.text[from..]);
        Some(joined)
    }

    /// A message whose breaks stand at these code points. What is no line feed is no break.
    pub(crate) fn with_breaks(text: Arc<str>, points: &[usize]) -> Self {
        let mut points = points.iter().peekable();
        let mut part_breaks = Vec::new();
        for (point, (byte, c)) in text.char_indices().enumerate() {
            while points.next_if(|place| **place < point).is_some() {}
            match points.peek() {
                None => break,
                Some(place) if **place == point && c == '\n' => part_breaks.push(byte),
                Some(_) => {}
            }
        }
        Self { text, part_breaks }
    }
}

impl From<String> for OwnedMessage {
    fn from(text: String) -> Self {
        Self {
            text: text.into(),
            part_breaks: Vec::new(),
        }
    }
}

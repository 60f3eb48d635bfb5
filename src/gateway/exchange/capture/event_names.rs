//! The names of the events of one stream that have text. Clients that handle the events of one name see no text of any
//! other: where the names differ, they read another text than those that look at no name.

/// The name that all of them have.
#[derive(Default)]
pub(crate) struct EventNames(Option<Vec<u8>>);

impl EventNames {
    /// Takes the name of an event with text; false where an earlier one has another.
    pub(crate) fn note(&mut self, name: &[u8]) -> bool {
        let first = self.0.get_or_insert_with(|| name.to_vec());
        first.as_slice() == name
    }
}

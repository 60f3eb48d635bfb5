//! Which words of a request make up its prompt.

use super::call_texts::CallTexts;
use super::request_shape::Entries;

/// Which messages a recorded prompt is made of (CONTRACT 3, `scan_roles`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanRole {
    /// The last message with role `user` that has text; the last one with text when nobody is the user.
    LastUser,
    /// Every message with role `user`.
    AllUser,
    /// [`Self::LastUser`] and the others of the user since the assistant's last message, read as one.
    UserTurn,
    /// Role `system` or its later name `developer`.
    System,
    /// Messages of the role `assistant`.
    Assistant,
    /// Role `tool` or its earlier name `function`.
    Tool,
}

impl ScanRole {
    /// Roles that together take every message.
    pub(super) const EVERY: [Self; 4] = [Self::AllUser, Self::System, Self::Assistant, Self::Tool];
    /// Whether it takes words of the user.
    pub(super) fn is_user(self) -> bool {
        matches!(self, Self::LastUser | Self::AllUser | Self::UserTurn)
    }

    /// The same, with the user's messages of one turn read as one.
    pub(super) const EVERY_BY_TURNS: [Self; 5] = [
        Self::UserTurn,
        Self::AllUser,
        Self::System,
        Self::Assistant,
        Self::Tool,
    ];
}

/// What is read of the messages of a request.
#[derive(Clone, Copy)]
pub(super) struct Selection<'w> {
    /// What the elements of a list are.
    pub(super) entries: Entries,
    /// The roles that are read.
    pub(super) roles: &'w [ScanRole],
    /// What is read of calls of tools in messages of the assistant.
    pub(super) calls: CallTexts,
}

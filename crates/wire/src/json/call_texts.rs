//! What of a tool call is text (`check_tool_arguments` of a policy).

/// What of a tool call is among the texts of a prompt or an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallTexts {
    /// The name of the tool and its arguments.
    #[default]
    Whole,
    /// The name of the tool.
    Names,
}

impl CallTexts {
    /// Whether arguments are texts.
    pub fn have_arguments(self) -> bool {
        self == Self::Whole
    }
}

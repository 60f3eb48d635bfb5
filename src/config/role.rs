//! What a process does. It decides which keys and variables are known.

/// What a process does; it decides which keys and variables are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `monitor all`: the gateway's keys at the top level, the analysis server's under `analysis:`.
    All,
    /// `monitor gateway`: the gateway's keys at the top level.
    Gateway,
    /// `monitor analysis`: its keys at the top level.
    Analysis,
}

impl Role {
    /// As `--role` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Gateway => "gateway",
            Self::Analysis => "analysis",
        }
    }

    /// The command that plays this role.
    pub fn command(self) -> &'static str {
        match self {
            Self::All => "monitor all",
            Self::Gateway => "monitor gateway",
            Self::Analysis => "monitor analysis",
        }
    }
}

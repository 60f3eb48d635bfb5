//! Identifies a token, where nothing else of it is known.

use uuid::Uuid;

/// Identifies a token without revealing its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenId(pub Uuid);

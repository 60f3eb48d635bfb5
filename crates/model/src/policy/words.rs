//! The enums of a policy, each written as one of a few words (§2.5, CONTRACT 3, 13, 41).

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// An enum that is written as one of a few words.
pub(super) trait Word: Copy + 'static {
    /// Every value, in the order of the documentation.
    const ALL: &'static [Self];
    /// The word of a value.
    fn word(self) -> &'static str;
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl Word for $name {
            const ALL: &'static [Self] = Self::ALL;
            fn word(self) -> &'static str { self.as_str() }
        }

        // The derive does not see through the literal of a macro.
        impl ToSchema for $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = ObjectBuilder::new().schema_type(Type::String);
                words.enum_values(Some([$($text),+])).into()
            }
        }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in files and stores.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

words!(
    /// Whether the verdict is awaited (§3).
    AppMode {
        /// The verdict comes before the upstream call; the client gets a non-stream answer.
        Sync => "sync",
        /// Nothing is awaited, nothing is replaced.
        Async => "async",
    }
);
words!(
    /// What a call gets when the backend gives no verdict in sync mode (CONTRACT 13).
    OnBackendFailure {
        /// The call goes on unchecked, counted and marked.
        Open => "open",
        /// The call fails with 502.
        Closed => "closed",
    }
);
words!(
    /// Which messages of a request are checked (CONTRACT 3).
    ScanRole {
        /// The last message with role user.
        LastUser => "last_user",
        /// Every message with role user.
        AllUser => "all_user",
        /// The messages with role user since the assistant's last one, read as one.
        UserTurn => "user_turn",
        /// Messages with role system or developer.
        System => "system",
        /// Messages with role assistant.
        Assistant => "assistant",
        /// Results of tools.
        Tool => "tool",
    }
);
words!(
    /// What becomes of `stream: true` in sync mode (CONTRACT 41).
    StreamInSync {
        /// It is rewritten to false.
        Off => "off",
        /// The answer is streamed behind a checked window.
        HoldBack => "hold_back",
        /// It is rewritten to false, and the whole answer is sent as a stream (CONTRACT 43).
        Replay => "replay",
    }
);
words!(
    /// Where the answer to a blocked call says what was found (§2.4).
    BlockDetails {
        /// The answer holds it itself, in `metadata.monitor`.
        Metadata => "metadata",
        /// In the header `X-Monitor-Replaced`, for clients that accept only texts in `metadata`.
        Header => "header",
    }
);
words!(
    /// What happens to the texts of embeddings (CONTRACT 46). An embedding has no phrase, so a blocked call is refused.
    Embeddings {
        /// They are forwarded unread.
        Off => "off",
        /// They are recorded.
        Record => "record",
        /// They are recorded, and the call awaits its verdict.
        Check => "check",
    }
);
words!(
    /// Whose spending a budget counts together.
    BudgetPer {
        /// All calls of the application.
        Application => "application",
        /// The calls of each user; those without X-User-Id are one user.
        User => "user",
    }
);
words!(
    /// The time after which the spending of a budget begins at zero again (UTC).
    BudgetWindow {
        /// A minute of the clock.
        Minute => "minute",
        /// A day of the calendar.
        Day => "day",
        /// A month of the calendar.
        Month => "month",
    }
);
words!(
    /// What calls get once a budget is spent.
    BudgetAction {
        /// They go on, with `X-Monitor-Budget: warn` in their answer.
        Warn => "warn",
        /// They are refused with 429.
        Stop => "stop",
    }
);

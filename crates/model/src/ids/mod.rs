//! Identifiers, one type each, so that they cannot be exchanged by mistake.

mod stored_id;

pub use stored_id::{LONGEST_ID, stored_id};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new random identifier (UUID version 4).
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text.trim()).map(Self)
            }
        }
    };
}

id!(
    /// An application registered at the backend (§2.1 X-Application-Id, §2.7 application_id).
    ApplicationId
);
id!(
    /// One chat completion at the gateway; the same on both backend calls (CONTRACT 5).
    ExchangeId
);
id!(
    /// One analysis record at the backend (§2.9 request_id).
    RecordId
);

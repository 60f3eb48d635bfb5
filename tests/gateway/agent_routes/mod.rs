//! Chat completions, completions, the Responses and the Messages API: one table of contract tests, with a test for each
//! row and API. §1.2, §1.3, §2.4 and CONTRACT 2 to 4, 12, 13, 15, 17 to 22 and 46 hold for all of them.

/// Makes a test of each row for each API: a row is a function over an [`Api`]. One that leaves an API out says why, and
/// the compiler refuses one that does not.
macro_rules! contract {
    ($($row:ident $(only [$($api:ident),+] because $why:literal)?;)+) => {
        $(contract!(@tests $row $([$($api),+])?);)+
    };
    (@tests $row:ident) => {
        contract!(@tests $row [chat, completions, responses, messages]);
    };
    (@tests $row:ident [$($api:ident),+]) => {
        mod $row {
            $(
                #[test]
                fn $api() {
                    super::$row(crate::agent_routes::Api::named(stringify!($api)));
                }
            )+
        }
    };
}

mod api;
mod around;
mod below;
mod blocked;
mod bytes;
mod completions;
mod compressed;
mod documented;
mod errors;
mod events;
mod held_memory;
mod items;
mod orders;
mod recorded;
mod splits;
mod stored;
mod streams;
mod unread;

pub(crate) use api::{AGENTS, Api};
pub(crate) use events::frame;
use events::{Program, data, streaming};

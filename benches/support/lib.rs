//! What the benches share: scripted model servers and backends, closed and open loops of calls, processes
//! pinned to a CPU with their times read from /proc, and tables of results. Roles of the same program: a
//! bench starts itself again as mock or load, so that no measured process shares a CPU with them.
#![allow(unreachable_pub, missing_docs)]

mod agent_answers;
pub mod answer;
pub mod body;
mod first_byte;
pub mod load;
pub mod mock;
pub mod open;
pub mod process;
pub mod prompt;
pub mod results;
pub mod wire;
pub mod world;

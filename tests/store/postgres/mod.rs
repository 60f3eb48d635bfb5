//! What is specific to the store in PostgreSQL, through the public interface of the crate and against a real
//! server: outages and recovery, several stores over one database, partitions and retention, migration. What
//! every engine has to do is tested by the contract.

mod budgets;
mod costs;
mod erased;
mod fleet;
mod indexes;
mod kept;
mod lookups;
mod migration;
mod outage;
mod partitions;
mod retention;
mod served;
mod several;
mod world;

//! Configuration and command line through the real binary (§8, CONTRACT 32 to 34): what is refused
//! and how it is reported, which source wins, and that the reference files and the documentation are complete.

mod alerts;
mod cli;
mod docs;
mod files;
mod hostile;
mod judge;
mod mistakes;
mod models;
mod pages;
mod policies;
mod prices;
mod problems;
mod reference;
mod reference_yaml;
mod siem;
mod sign_in;
mod sources;
mod store;
mod upstreams;
mod world;

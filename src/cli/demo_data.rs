//! `monitor demo-data`: its flags.

use super::failure::Failure;
use super::output::print;
use super::store::StoreArgs;
use crate::app::{self, DemoDataRequest};
use clap::Args;

/// Options of `monitor demo-data`.
#[derive(Debug, Args)]
pub(super) struct DemoDataArgs {
    /// Days that end with today, 7 to 90; each has about 50 exchanges.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(7..=90))]
    days: u16,
    /// Another number gives other data; the same one gives the same on the same day.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Add the data to a store that has records.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Fills the store and prints what it has now.
pub(super) fn run(args: DemoDataArgs) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    let request = DemoDataRequest {
        days: args.days,
        seed: args.seed,
        force: args.force,
    };
    print(app::fill_demo_data(&settings, request)?.as_bytes())
}

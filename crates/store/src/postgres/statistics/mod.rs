//! Statistics per day and traffic per hour, from the counters that the writers keep up to date as records come
//! in. Each counter is split into several rows (column `lane`); reading sums them up.

mod cost_sums;
pub(super) mod costs;
pub(super) mod counter_lanes;
mod days;
mod spending;
pub(super) mod totals;
pub(super) mod traffic;
pub(super) mod user_days;
mod user_names;
mod user_sums;

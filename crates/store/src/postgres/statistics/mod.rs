//! Statistics per day and traffic per hour, from the counters that the writers keep up to date as records come
//! in. Each counter is split into several rows (column `lane`); reading sums them up.

mod days;
pub(super) mod totals;
pub(super) mod traffic;

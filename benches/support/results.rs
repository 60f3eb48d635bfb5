//! What the bench prints.

use std::time::Duration;

/// Rows in the order they came.
#[derive(Default)]
pub struct Table(Vec<[String; 4]>);

impl Table {
    /// A time.
    pub fn add(&mut self, case: &str, measure: &str, value: Duration, goal: &str) {
        let text = match value.as_micros() {
            micros if micros < 10_000 => format!("{micros} µs"),
            micros => format!("{:.1} ms", micros as f64 / 1e3),
        };
        self.row(case, measure, text, goal);
    }

    /// A number.
    pub fn note(&mut self, case: &str, measure: &str, value: f64, goal: &str) {
        self.row(case, measure, value.to_string(), goal);
    }

    /// As Markdown.
    pub fn render(&self) -> String {
        let mut out = "| case | measure | value | goal |\n|---|---|---:|---:|\n".to_owned();
        for [case, measure, value, goal] in &self.0 {
            out.push_str(&format!("| {case} | {measure} | {value} | {goal} |\n"));
        }
        out
    }

    fn row(&mut self, case: &str, measure: &str, value: String, goal: &str) {
        eprintln!("  {measure}: {value}");
        self.0
            .push([case.into(), measure.into(), value, goal.into()]);
    }
}

/// The value below which this share of them lies.
pub fn percentile(taken: &mut [Duration], share: f64) -> Duration {
    taken.sort_unstable();
    let index = (taken.len() as f64 * share) as usize;
    let last = taken.len().saturating_sub(1);
    taken.get(index.min(last)).copied().unwrap_or_default()
}

//! The one table the bench prints: medians over the rounds, ratios to the bare proxy of the medians and of the smallest
//! figures, goals.

use super::cases::Case;
use super::target::Target;

/// One of the APIs that agents speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentApi {
    Responses,
    Messages,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// CPU of the proxy's process per call.
    Cpu,
    /// The same with telemetry in batches, until the last record is delivered.
    CpuRecorded,
    /// CPU of an agent's prompt, with telemetry in batches.
    PromptCpu(AgentApi),
    /// Median of the time from the end of an agent's prompt to its first byte upstream, with telemetry in batches.
    PromptAdded(AgentApi),
    /// Median latency.
    P50,
    /// 99th percentile of latency.
    P99,
    /// Median latency less that of the same calls straight to the mock.
    AddedP50,
    /// Calls a second.
    Rate,
    /// Median latency less that of the bare proxy at the same rate.
    CheckP50,
    /// The same of the 99th percentile.
    CheckP99,
    /// Median of what a backend takes by itself, the way to it included.
    BackendP50,
    /// Median latency less those of the bare proxy and of the backend by itself.
    AroundP50,
    /// Resident memory per held stream.
    StreamKib,
    /// Resident memory of all held streams.
    StreamsMib,
    /// Growth of the peak by one body, relative to its size.
    BodyFactor,
    /// Median latency of one call at a time, less the bare proxy's.
    TelemetryP50,
    /// Records delivered a second.
    Delivered,
    /// Growth of the peak while records wait and are delivered.
    SpoolMib,
    /// KiB that are written to the disk for a call.
    DiskKib,
    /// How often threads waited for something, per call.
    Switches,
    /// Thousands of instructions of a call.
    Instructions,
    /// The same with telemetry in batches.
    InstructionsBatches,
    /// The same with a record a call.
    InstructionsSingle,
    /// The same of `monitor all`, both records stored.
    InstructionsAll,
}

impl Measure {
    fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU µs per call",
            Self::CpuRecorded => "CPU µs per call, recorded",
            Self::PromptCpu(AgentApi::Responses) => "Responses: CPU µs per prompt",
            Self::PromptCpu(AgentApi::Messages) => "Messages: CPU µs per prompt",
            Self::PromptAdded(AgentApi::Responses) => "Responses: µs before first byte upstream",
            Self::PromptAdded(AgentApi::Messages) => "Messages: µs before first byte upstream",
            Self::P50 => "p50 µs",
            Self::P99 => "p99 µs",
            Self::AddedP50 => "added p50 µs",
            Self::Rate => "calls/s, half load",
            Self::CheckP50 => "added p50 µs",
            Self::CheckP99 => "added p99 µs",
            Self::BackendP50 => "backend's own p50 µs",
            Self::AroundP50 => "added p50 µs beside it",
            Self::StreamKib => "KiB per stream",
            Self::StreamsMib => "MiB for all streams",
            Self::BodyFactor => "peak growth ÷ body",
            Self::TelemetryP50 => "added p50 µs",
            Self::Delivered => "records/s delivered",
            Self::SpoolMib => "peak growth MiB",
            Self::DiskKib => "KiB to disk per call",
            Self::Switches => "voluntary switches per call",
            Self::Instructions => "1,000 instructions per call",
            Self::InstructionsBatches => "the same, telemetry in batches",
            Self::InstructionsSingle => "the same, telemetry one by one",
            Self::InstructionsAll => "the same, `monitor all`",
        }
    }

    /// The figure that has to stay within a goal, and the goal.
    fn goal(self, case: &Case, value: f64, ratio: f64) -> Option<(f64, f64)> {
        match self {
            Self::Cpu | Self::CpuRecorded => case.cpu_goal.map(|goal| (ratio, goal)),
            Self::PromptAdded(_) => Some((value, 2_000.0)),
            Self::AddedP50 => Some((value, 100.0)),
            Self::CheckP50 => Some((value, 300.0)),
            Self::CheckP99 => Some((value, 2000.0)),
            Self::AroundP50 => Some((value, 200.0)),
            Self::StreamKib => Some((value, 24.0)),
            Self::BodyFactor => Some((value, 2.0)),
            Self::TelemetryP50 => Some((value, 50.0)),
            Self::Delivered => Some((value, 5_000.0)),
            Self::SpoolMib => Some((value, 64.0)),
            Self::DiskKib => Some((value, 15.0)),
            Self::PromptCpu(_)
            | Self::P50
            | Self::P99
            | Self::StreamsMib
            | Self::Rate
            | Self::BackendP50
            | Self::Switches
            | Self::Instructions
            | Self::InstructionsBatches
            | Self::InstructionsSingle
            | Self::InstructionsAll => None,
        }
    }
}

struct Row {
    case: Case,
    measure: Measure,
    samples: [Vec<f64>; Target::ALL.len()],
}

/// All rows, in the order their first sample came.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Takes one sample.
    pub(crate) fn add(&mut self, case: &Case, target: Target, measure: Measure, value: f64) {
        let known = self
            .rows
            .iter()
            .position(|row| row.case.name == case.name && row.measure == measure);
        let index = known.unwrap_or_else(|| {
            self.rows.push(Row {
                case: *case,
                measure,
                samples: Default::default(),
            });
            self.rows.len() - 1
        });
        self.rows[index].samples[target as usize].push(value);
    }

    /// The table as markdown. Goals are compared only where the figures mean something.
    pub(crate) fn render(&self, judge: bool) -> String {
        let mut text = String::from(
            "| case | measure | bare | nginx | HAProxy | gateway | ratio | of minima | goal | all ÷ bare |\n\
             |---|---|---:|---:|---:|---:|---:|---:|---|---:|\n",
        );
        for row in &self.rows {
            text.push_str(&row.render(judge));
        }
        text
    }
}

impl Row {
    fn render(&self, judge: bool) -> String {
        let medians = self.samples.each_ref().map(|samples| median(samples));
        let [bare, gateway, all, nginx, haproxy] = medians;
        let ratio = gateway / bare;
        let of_minima = smallest(&self.samples[1]) / smallest(&self.samples[0]);
        let decimals = if self.measure == Measure::BodyFactor {
            2
        } else {
            1
        };
        let at_least = self.measure == Measure::Delivered;
        let sign = if at_least { "≥" } else { "≤" };
        let goal = match self.measure.goal(&self.case, gateway, ratio) {
            Some((_, goal)) if !judge => format!("{sign} {goal}"),
            Some((value, goal)) if value == goal || (value > goal) == at_least => {
                format!("{sign} {goal}, met")
            }
            Some((_, goal)) => format!("{sign} {goal}, **missed**"),
            None => String::new(),
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {goal} | {} |\n",
            self.case.name,
            self.measure.title(),
            figure(bare, decimals),
            figure(nginx, decimals),
            figure(haproxy, decimals),
            figure(gateway, decimals),
            figure(ratio, 2),
            figure(of_minima, 2),
            figure(all / bare, 2),
        )
    }
}

/// NaN without samples, so that whatever is made of it stays empty.
fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// NaN without samples.
fn smallest(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::NAN, f64::min)
}

fn figure(value: f64, decimals: usize) -> String {
    if value.is_finite() {
        format!("{value:.decimals$}")
    } else {
        String::new()
    }
}

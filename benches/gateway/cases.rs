//! The cases, how large each run is, and how one case is measured on one started target.

use super::facts::{cpu_us, forget_peak, peak_bytes, resident_bytes};
use super::table::{Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::{Result, bail, ensure};
use bench_support::answer::Answer;
use bench_support::load::{Plan, Report};
use bench_support::prompt::Prompt;
use bench_support::world::{Load, World};
use std::net::SocketAddr;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// What is done with the proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Calls on all connections for a time: CPU per call, latency.
    Loop(Sizes),
    /// One call at a time on one connection: what the proxy adds to the median.
    Idle,
    /// Streams that stay silent after one frame: memory per stream.
    Held,
    /// One large body: growth of the peak relative to its size.
    Body,
    /// Streams that are held back, beside the same streams in asynchronous mode.
    HoldBack,
    /// Calls of another API beside those of the chat route; see `agents`.
    BesideChat(Sizes),
    /// Streams of another API beside the bare proxy; see `agents`.
    BesideBare(Sizes),
    /// The long prompts of agents; see `agents`.
    Prompts,
    /// Sync mode of that target at half load; see `sync`.
    Sync(Target),
    /// Telemetry of that target over HTTP, through the spool; see `spool`.
    Spool(Target, Sizes),
    /// What waits in that target's spool after an outage; see `spool`.
    Backlog(Target),
    /// What `monitor all` writes to the disk while calls arrive at a rate; see `disk`.
    Disk,
    /// Instructions of a call with a request of so many bytes; see `instructions`.
    Count { request_bytes: usize },
}

/// What a call sends and gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) prompt: Prompt,
    pub(crate) request_bytes: usize,
    pub(crate) answer: Answer,
}

/// One case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) work: Work,
    /// The largest ratio to the bare proxy in CPU per call that is the goal.
    pub(crate) cpu_goal: Option<f64>,
}

const fn case(name: &'static str, work: Work) -> Case {
    Case {
        name,
        work,
        cpu_goal: None,
    }
}

/// A case whose CPU per call should be so many times that of the bare proxy at most.
const fn within(cpu_goal: f64, name: &'static str, work: Work) -> Case {
    Case {
        name,
        work,
        cpu_goal: Some(cpu_goal),
    }
}

const fn sizes(request_bytes: usize, answer: Answer) -> Sizes {
    Sizes {
        prompt: Prompt::Chat,
        request_bytes,
        answer,
    }
}

/// A small call of that API.
const fn small(prompt: Prompt, answer: Answer) -> Sizes {
    Sizes {
        prompt,
        ..sizes(KIB, answer)
    }
}

pub(crate) const SMALL: Sizes = sizes(KIB, Answer::Json1k);
const MEDIUM: Sizes = sizes(32 * KIB, Answer::Json32k);
const LARGE_REQUEST: Sizes = sizes(MIB, Answer::Json1k);
const LARGE_ANSWER: Sizes = sizes(KIB, Answer::Json1m);
const STREAM: Sizes = sizes(KIB, Answer::Sse200);
const RESPONSES: Sizes = small(Prompt::Responses, Answer::Responses1k);
const MESSAGES: Sizes = small(Prompt::Messages, Answer::Messages1k);
const RESPONSES_STREAM: Sizes = small(Prompt::Responses, Answer::ResponsesSse200);
const MESSAGES_STREAM: Sizes = small(Prompt::Messages, Answer::MessagesSse200);

/// All cases, in the order of the table.
pub(crate) const CASES: [Case; 29] = {
    use Target::{Spool as Single, SpoolBatch as Batches, SpoolEncrypted as Encrypted};
    use Work::{Backlog, BesideBare, BesideChat, Count, Loop, Spool, Sync};
    [
        within(0.85, "1k", Loop(SMALL)),
        within(0.9, "32k", Loop(MEDIUM)),
        within(0.95, "1m", Loop(LARGE_REQUEST)),
        case("1m-answer", Loop(LARGE_ANSWER)),
        within(1.0, "sse", Loop(STREAM)),
        within(1.05, "responses", BesideChat(RESPONSES)),
        within(1.05, "messages", BesideChat(MESSAGES)),
        within(1.1, "responses-sse", BesideBare(RESPONSES_STREAM)),
        within(1.1, "messages-sse", BesideBare(MESSAGES_STREAM)),
        case("agent-prompt", Work::Prompts),
        case("hold-back", Work::HoldBack),
        case("idle", Work::Idle),
        case("held", Work::Held),
        case("body", Work::Body),
        case("sync-local", Sync(Target::SyncAll)),
        case("sync-http", Sync(Target::SyncHttp)),
        within(2.0, "spool", Spool(Single, SMALL)),
        within(1.5, "spool-batch", Spool(Batches, SMALL)),
        within(1.5, "spool-batch-32k", Spool(Batches, MEDIUM)),
        within(1.3, "spool-batch-1m", Spool(Batches, LARGE_REQUEST)),
        within(1.0, "spool-batch-sse", Spool(Batches, STREAM)),
        case("spool-encrypted", Spool(Encrypted, SMALL)),
        case("backlog", Backlog(Single)),
        case("backlog-batch", Backlog(Batches)),
        case("backlog-encrypted", Backlog(Encrypted)),
        case("disk", Work::Disk),
        case("instructions", Count { request_bytes: KIB }),
        case(
            "instructions-32k",
            Count {
                request_bytes: 32 * KIB,
            },
        ),
        case("instructions-1m", Count { request_bytes: MIB }),
    ]
};

impl Case {
    /// Whether it runs only where it is asked for by name: it takes minutes, and a tool.
    pub(crate) fn is_by_name(&self) -> bool {
        matches!(self.work, Work::Count { .. })
    }

    /// Whether the target takes a turn. Telemetry is of no interest where memory is measured, and other programs are
    /// compared where all do the same.
    pub(crate) fn concerns(&self, target: Target) -> bool {
        let passes_through = matches!(self.work, Work::Loop(_) | Work::Idle | Work::Held);
        match target {
            Target::All => matches!(self.work, Work::Loop(_) | Work::Idle),
            Target::Nginx | Target::HaProxy => passes_through && target.is_installed(),
            _ => true,
        }
    }
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) rounds: usize,
    pub(crate) connections: usize,
    pub(crate) loop_millis: u64,
    pub(crate) loop_calls: u64,
    pub(crate) warm_up: u64,
    pub(crate) idle_calls: u64,
    pub(crate) streams: usize,
    pub(crate) body_bytes: usize,
    /// Calls whose records wait in the spool, two of each.
    pub(crate) backlog_calls: u64,
    /// Calls of 1 KiB in the shorter run that is counted; larger ones are fewer.
    pub(crate) counted_calls: u64,
}

impl Scale {
    /// Enough for figures to quote.
    pub(crate) const FULL: Self = Self {
        rounds: 3,
        connections: 16,
        loop_millis: 4_000,
        loop_calls: u64::MAX,
        warm_up: 50,
        idle_calls: 5_000,
        streams: 1_000,
        body_bytes: 100_000_000,
        backlog_calls: 50_000,
        counted_calls: 1_000,
    };
    /// Calls of which the instructions are compared with those that are written down.
    pub(crate) const GATE: Self = Self {
        counted_calls: 250,
        ..Self::FULL
    };
    /// Enough to see that every case still runs; its figures mean nothing.
    pub(crate) const QUICK: Self = Self {
        rounds: 1,
        connections: 4,
        loop_millis: 10_000,
        loop_calls: 40,
        warm_up: 2,
        idle_calls: 20,
        streams: 20,
        body_bytes: 8_000_000,
        backlog_calls: 200,
        counted_calls: 20,
    };
}

/// What one run gave, and the records it left.
pub(crate) type Findings = (Vec<(Measure, f64)>, Records);

/// Measures `case` on a running target.
pub(crate) fn measure(
    case: &Case,
    scale: &Scale,
    world: &World,
    target: &Running,
) -> Result<Findings> {
    match case.work {
        Work::Loop(sizes) => {
            let plan = Plan {
                request_bytes: sizes.request_bytes,
                answer: sizes.answer,
                ..looped(target.address, scale)
            };
            run_loop(plan, world, target)
        }
        Work::Idle => {
            let idle = idle(world.mock, scale, world)?;
            let through = self::idle(target.address, scale, world)?;
            let added = (Measure::AddedP50, through.p50_us - idle.p50_us);
            Ok((
                vec![(Measure::P50, through.p50_us), added],
                target.settle()?,
            ))
        }
        Work::Held => held(scale, world, target),
        Work::Body => body(scale, world, target),
        Work::HoldBack
        | Work::BesideChat(_)
        | Work::BesideBare(_)
        | Work::Prompts
        | Work::Sync(_)
        | Work::Spool(..)
        | Work::Backlog(_)
        | Work::Disk
        | Work::Count { .. } => {
            bail!("such a case is measured by pairs of targets")
        }
    }
}

/// The plan on a running target: CPU until its last record is delivered, latency.
pub(crate) fn run_loop(plan: Plan, world: &World, target: &Running) -> Result<Findings> {
    let mut load = Load::start(&plan, world)?;
    let records = target.settle()?;
    let before = cpu_us(target.process.id())?;
    let report = load.finish()?;
    let settled = target.settle()?;
    let spent = cpu_us(target.process.id())? - before;
    let found = vec![
        (Measure::Cpu, spent / report.count as f64),
        (Measure::P50, report.p50_us),
        (Measure::P99, report.p99_us),
    ];
    let records = Records {
        stored: settled.stored - records.stored,
        made: settled.made - records.made,
    };
    Ok((found, records))
}

/// One round of streams: the bare proxy, `monitor all` that holds them back, in the gateway's column, and the same
/// program that only records them.
pub(crate) fn hold_back(
    case: &Case,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    for (target, column) in [
        (Target::Bare, Target::Bare),
        (Target::HoldBack, Target::Gateway),
        (Target::All, Target::All),
    ] {
        let running = Running::start(target, world)?;
        let plan = Plan {
            answer: Answer::Sse200,
            ..looped(running.address, scale)
        };
        let (findings, _) = run_loop(plan, world, &running)?;
        if target == Target::HoldBack {
            let held = running
                .metrics()?
                .sum("monitor_sync_streams_total", "held_back");
            ensure!(held > 0.0, "no stream was held back");
        }
        for (measure, value) in findings {
            table.add(case, column, measure, value);
        }
    }
    Ok(Records::default())
}

/// One call at a time.
pub(crate) fn idle(address: SocketAddr, scale: &Scale, world: &World) -> Result<Report> {
    let one = Plan {
        connections: 1,
        max_calls: scale.idle_calls,
        ..looped(address, scale)
    };
    Load::start(&one, world)?.finish()
}

fn held(scale: &Scale, world: &World, target: &Running) -> Result<Findings> {
    warm(scale, world, target)?;
    let before = resident_bytes(target.process.id())?;
    let streams = scale.streams;
    let plan = Plan {
        connections: streams,
        answer: Answer::Held,
        ..looped(target.address, scale)
    };
    let mut load = Load::start(&plan, world)?;
    let grown = resident_bytes(target.process.id())? - before;
    load.finish()?;
    let found = vec![
        (Measure::StreamKib, grown / streams as f64 / KIB as f64),
        (Measure::StreamsMib, grown / MIB as f64),
    ];
    Ok((found, Records::default()))
}

fn body(scale: &Scale, world: &World, target: &Running) -> Result<Findings> {
    warm(scale, world, target)?;
    let request_bytes = scale.body_bytes;
    let one = Plan {
        request_bytes,
        connections: 1,
        warm_up: 0,
        max_calls: 1,
        ..looped(target.address, scale)
    };
    let mut load = Load::start(&one, world)?;
    forget_peak(target.process.id());
    let before = resident_bytes(target.process.id())?;
    load.finish()?;
    let grown = peak_bytes(target.process.id())? - before;
    Ok((
        vec![(Measure::BodyFactor, grown / request_bytes as f64)],
        Records::default(),
    ))
}

/// Lets a fresh process allocate what any traffic makes it allocate.
pub(crate) fn warm(scale: &Scale, world: &World, target: &Running) -> Result<()> {
    let calls = scale.connections as u64 * scale.warm_up;
    let plan = Plan {
        max_calls: calls,
        ..looped(target.address, scale)
    };
    Load::start(&plan, world)?.finish().map(drop)
}

/// The closed loop of a scale, 1 KiB each way.
pub(crate) fn looped(address: SocketAddr, scale: &Scale) -> Plan {
    Plan {
        address,
        prompt: Prompt::Chat,
        request_bytes: KIB,
        answer: Answer::Json1k,
        connections: scale.connections,
        warm_up: scale.warm_up,
        max_calls: scale.loop_calls,
        max_millis: scale.loop_millis,
        rate: None,
    }
}

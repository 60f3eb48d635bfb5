//! The cases of the APIs that agents speak: calls of 1 KiB beside the chat route, streams beside the bare proxy, and
//! how long the prompt of an agent takes until the model server gets it. The subject's figures stand in the gateway's
//! column. Each is measured without telemetry, and with it in batches (`recorded`).

use super::cases::{Case, Scale, Sizes, looped, run_loop};
use super::table::{AgentApi, Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::Result;
use bench_support::answer::Answer;
use bench_support::load::Plan;
use bench_support::prompt::Prompt;
use bench_support::world::World;
use std::net::SocketAddr;

/// Bytes of an agent's prompt.
const PROMPT_BYTES: usize = 400_000;

/// The gateway without telemetry and with it, and the measure of its CPU.
const SUBJECTS: [(Target, Measure); 2] = [
    (Target::Gateway, Measure::Cpu),
    (Target::SpoolBatch, Measure::CpuRecorded),
];

/// One round of calls beside those of the chat route, which stand in the bare proxy's column.
pub(crate) fn beside_chat(
    case: &Case,
    [chat, subject]: [Sizes; 2],
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    for (target, measure) in SUBJECTS {
        let running = Running::start(target, world)?;
        let turns = [
            (chat, Target::Bare),
            (subject, Target::Gateway),
            (subject, Target::Gateway),
            (chat, Target::Bare),
        ];
        // Neither profits from what ran before it.
        for (sizes, column) in turns {
            let cpu = cpu(sizes, scale, world, &running)?;
            table.add(case, column, measure, cpu);
        }
    }
    Ok(Records::default())
}

/// One round of streams beside the same through the bare proxy.
pub(crate) fn beside_bare(
    case: &Case,
    sizes: Sizes,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let bare = cpu(sizes, scale, world, &Running::start(Target::Bare, world)?)?;
    for (target, measure) in SUBJECTS {
        let cpu = cpu(sizes, scale, world, &Running::start(target, world)?)?;
        table.add(case, Target::Bare, measure, bare);
        table.add(case, Target::Gateway, measure, cpu);
    }
    Ok(Records::default())
}

/// CPU of a call in a closed loop.
fn cpu(sizes: Sizes, scale: &Scale, world: &World, running: &Running) -> Result<f64> {
    let plan = Plan {
        prompt: sizes.prompt,
        request_bytes: sizes.request_bytes,
        answer: sizes.answer,
        ..looped(running.address, scale)
    };
    let (found, _) = run_loop(plan, world, running)?;
    Ok(figure(&found, Measure::Cpu))
}

/// One round of an agent's prompts, one at a time.
pub(crate) fn prompts(
    case: &Case,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    for (target, column) in [
        (Target::Bare, Target::Bare),
        (Target::SpoolBatch, Target::Gateway),
    ] {
        let running = Running::start(target, world)?;
        for api in [AgentApi::Responses, AgentApi::Messages] {
            let plan = prompt(api, running.address, scale);
            let (found, _) = run_loop(plan, world, &running)?;
            let cpu = figure(&found, Measure::Cpu);
            table.add(case, column, Measure::PromptCpu(api), cpu);
            // The bare proxy calls the model server before it has the body.
            if column == Target::Gateway {
                let added = figure(&found, Measure::P50);
                table.add(case, column, Measure::PromptAdded(api), added);
            }
        }
    }
    Ok(Records::default())
}

fn prompt(api: AgentApi, address: SocketAddr, scale: &Scale) -> Plan {
    Plan {
        prompt: match api {
            AgentApi::Responses => Prompt::ResponsesAgent,
            AgentApi::Messages => Prompt::MessagesAgent,
        },
        request_bytes: PROMPT_BYTES,
        answer: Answer::Timed,
        connections: 1,
        max_calls: scale.idle_calls,
        ..looped(address, scale)
    }
}

/// NaN where it was not measured.
fn figure(found: &[(Measure, f64)], wanted: Measure) -> f64 {
    let figure = found.iter().find(|(measure, _)| *measure == wanted);
    figure.map_or(f64::NAN, |(_, value)| *value)
}

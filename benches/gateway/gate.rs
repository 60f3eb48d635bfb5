//! `cargo counted gateway -- gate` fails where a call of 1 KiB costs more instructions than
//! `instructions.txt` allows, and names the functions that grew. UPDATE_INSTRUCTIONS=1 writes that file anew.
//!
//! Another compiler, C library or processor changes every figure: so the bare proxy, which stands beside, is the
//! measure, and where it costs another number of instructions than is written down, more is allowed.

use super::callgrind::Profile;
use super::cases::Scale;
use super::instructions::of_a_call;
use super::target::Target;
use anyhow::{Context, Result, bail};
use bench_support::world::World;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// How much more a call may cost than is written down.
const TOLERANCE: f64 = 0.03;
/// The same where the file was written with another compiler, C library or processor, which shows where the bare proxy
/// differs by more than [`ALIKE`].
const TOLERANCE_ELSEWHERE: f64 = 0.10;
const ALIKE: f64 = 0.02;
/// Calls wait for each other a little differently each time: the smallest of so many counts is compared.
const TRIES: usize = 5;
const REQUEST_BYTES: usize = 1 << 10;
/// Functions that are written down of each program, and how many are named where one has grown.
const FUNCTIONS: usize = 60;
const NAMED: usize = 12;

/// Telemetry in batches is left out: how many records a batch gets depends on the time, and the count with it.
const GATED: [(Target, &str); 3] = [
    (Target::Bare, "bare"),
    (Target::Gateway, "gateway"),
    (Target::Spool, "single"),
];

const HEAD: &str = "\
# Instructions that a call of 1 KiB costs, in thousands, and what its most expensive functions take by themselves.
# UPDATE_INSTRUCTIONS=1 cargo counted gateway -- gate
";

/// What is written down, by the name of the program.
type Reference = BTreeMap<String, Profile>;

/// Counts and compares, or writes down.
pub(crate) fn run() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/gateway/instructions.txt");
    let (world, _children) = World::start()?;
    if std::env::var_os("UPDATE_INSTRUCTIONS").is_some() {
        let mut text = HEAD.to_owned();
        for (target, name) in GATED {
            write_down(&mut text, name, &smallest(target, &world, TRIES)?)?;
        }
        return std::fs::write(&path, text).context("writing the reference");
    }
    let text = std::fs::read_to_string(&path).context("reading the reference")?;
    let reference = read(&text)?;
    let mut grown = String::new();
    let (mut bare, mut tolerance) = (1.0, TOLERANCE);
    for (target, name) in GATED {
        let known = reference.get(name).with_context(|| format!("no {name}"))?;
        let allowed = known.total * bare * (1.0 + tolerance);
        let mut found = smallest(target, &world, 1)?;
        if target == Target::Bare {
            bare = found.total / known.total;
            if (bare - 1.0_f64).abs() > ALIKE {
                tolerance = TOLERANCE_ELSEWHERE;
                println!("the reference was written elsewhere: {tolerance} more is allowed");
            }
        }
        for _ in 1..TRIES {
            if target == Target::Bare || found.total <= allowed {
                break;
            }
            let again = smallest(target, &world, 1)?;
            if again.total < found.total {
                found = again;
            }
        }
        println!(
            "{name}: {:.1} thousand instructions a call, {:.1} known, {:.3} of it beside the bare proxy",
            found.total,
            known.total,
            found.total / known.total / bare
        );
        if target != Target::Bare && found.total > allowed {
            write!(
                grown,
                "\n{name}: more than {allowed:.1} thousand; by function:"
            )?;
            for line in growth(known, &found) {
                write!(grown, "\n{line}")?;
            }
        }
    }
    if !grown.is_empty() {
        bail!(
            "a call costs more than {:.0} % above benches/gateway/instructions.txt (if it is worth it, say why and \
             write the file anew with UPDATE_INSTRUCTIONS=1):{grown}",
            100.0 * tolerance
        );
    }
    Ok(())
}

/// The smallest of some counts, in thousands.
fn smallest(target: Target, world: &World, tries: usize) -> Result<Profile> {
    let mut counts = Vec::new();
    for _ in 0..tries {
        let mut count = of_a_call(target, REQUEST_BYTES, &Scale::GATE, world)?;
        count.total /= 1e3;
        count.functions.values_mut().for_each(|cost| *cost /= 1e3);
        eprintln!("{target:?}: {:.2}", count.total);
        counts.push(count);
    }
    let smallest = counts
        .into_iter()
        .min_by(|a, b| a.total.total_cmp(&b.total));
    smallest.context("nothing was counted")
}

fn write_down(text: &mut String, name: &str, profile: &Profile) -> Result<()> {
    writeln!(text, "{name} {:.2}", profile.total)?;
    let mut functions: Vec<_> = profile.functions.iter().collect();
    functions.sort_by(|a, b| b.1.total_cmp(a.1));
    for (name, cost) in functions.into_iter().take(FUNCTIONS) {
        writeln!(text, "  {cost:.2} {name}")?;
    }
    Ok(())
}

fn read(text: &str) -> Result<Reference> {
    let mut reference = Reference::new();
    let mut program = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let broken = || format!("instructions.txt: {line:?}");
        match line.strip_prefix("  ") {
            Some(line) => {
                let (cost, name) = line.split_once(' ').with_context(broken)?;
                let profile = reference.entry(program.clone()).or_default();
                profile.functions.insert(name.to_owned(), cost.parse()?);
            }
            None => {
                let (name, total) = line.split_once(' ').with_context(broken)?;
                program = name.to_owned();
                reference.entry(program.clone()).or_default().total = total.parse()?;
            }
        }
    }
    Ok(reference)
}

/// The functions that cost more than is written down, the worst first.
fn growth(known: &Profile, found: &Profile) -> Vec<String> {
    let least = known
        .functions
        .values()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let mut grown: Vec<_> = found
        .functions
        .iter()
        .map(|(name, cost)| {
            // What is not written down costs less than the least that is.
            let before = known.functions.get(name).copied();
            (cost - before.unwrap_or(least.min(*cost)), cost, name)
        })
        .collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named = grown.into_iter().take(NAMED);
    named
        .map(|(more, cost, name)| format!("  +{more:.2} (now {cost:.2}) {name}"))
        .collect()
}

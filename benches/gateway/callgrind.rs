//! Reads what callgrind writes: the instructions that each function takes by itself.

use std::collections::{BTreeMap, HashMap};

/// Instructions of a run, or of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    /// All together.
    pub(crate) total: f64,
    /// By the function's name, without what it calls.
    pub(crate) functions: BTreeMap<String, f64>,
}

impl Profile {
    /// None if the text has no end yet.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let totals = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let mut profile = Self {
            total: totals?.trim().parse().ok()?,
            functions: BTreeMap::new(),
        };
        // A name stands only where its number is used for the first time, also by a caller.
        let mut names: HashMap<&str, &str> = HashMap::new();
        let (mut function, mut is_of_callee) = ("", false);
        for line in text.lines() {
            if let Some((key, value)) = line.split_once('=') {
                match key {
                    "fn" => function = named(&mut names, value),
                    "cfn" => drop(named(&mut names, value)),
                    // The next line has what the called function takes.
                    "calls" => is_of_callee = true,
                    _ => {}
                }
            } else if line
                .starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            {
                let cost = line
                    .split(' ')
                    .nth(1)
                    .and_then(|cost| cost.parse::<f64>().ok());
                if let (Some(cost), false) = (cost, is_of_callee) {
                    *profile.functions.entry(plain(function)).or_default() += cost;
                }
                is_of_callee = false;
            }
        }
        Some(profile)
    }

    /// What a call takes, from runs that differ by so many calls.
    pub(crate) fn of_a_call(short: &Self, long: &Self, calls: f64) -> Self {
        let of_short = |name: &String| short.functions.get(name).copied().unwrap_or_default();
        Self {
            total: (long.total - short.total) / calls,
            functions: long
                .functions
                .iter()
                .map(|(name, count)| (name.clone(), (count - of_short(name)) / calls))
                .collect(),
        }
    }
}

/// The name of `(12) name` or, later, of `(12)`.
fn named<'t>(names: &mut HashMap<&'t str, &'t str>, value: &'t str) -> &'t str {
    match value.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(value).copied().unwrap_or(value),
    }
}

/// A function's name without the hash of the compiler and the depth of a recursion.
fn plain(name: &str) -> String {
    let name = name.split('\'').next().unwrap_or(name);
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 => before.to_owned(),
        _ => name.to_owned(),
    }
}

//! Filters of `log.level` that were written for release 4.1, when the program was one crate: the modules
//! they name, and where those are now.

/// A moved module and the modules that hold its log lines now.
pub(crate) type Moved = (&'static str, &'static [&'static str]);

/// Longer paths stand before the paths they begin with.
const MOVED: &[Moved] = &[
    (
        "monitor_gateway::telemetry::spool",
        &["monitor_gateway::spool"],
    ),
    (
        "monitor_gateway::telemetry",
        &["monitor_gateway::backend", "monitor_gateway::spool"],
    ),
    ("monitor_gateway::store", &["monitor_store"]),
    ("monitor_gateway::detect", &["monitor_detect"]),
];

/// A filter with the present names of the modules, and the moved ones that it named. `monitor_gateway`
/// alone stands for all crates of the program, as it did when they were one.
pub(crate) fn current(level: &str) -> (String, Vec<Moved>) {
    let (mut directives, mut found) = (Vec::new(), Vec::new());
    for directive in level.split(',').map(str::trim) {
        let (module, rest) = match directive.find('=') {
            Some(at) => directive.split_at(at),
            None => (directive, ""),
        };
        if module == "monitor_gateway" {
            let crates = [module, "monitor_store", "monitor_detect"];
            directives.extend(crates.map(|name| format!("{name}{rest}")));
            continue;
        }
        let is_below = |old: &str| {
            let below = module.strip_prefix(old);
            below.is_some_and(|below| below.is_empty() || below.starts_with("::"))
        };
        match MOVED.iter().find(|(old, _)| is_below(old)) {
            Some(&(old, new)) => {
                directives.extend(new.iter().map(|name| format!("{name}{rest}")));
                found.push((old, new));
            }
            None => directives.push(directive.to_owned()),
        }
    }
    (directives.join(","), found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_filter_of_release_4_1_reaches_the_modules_where_they_are_now() {
        let (level, moved) = super::current("info,monitor_gateway::store::sqlite=debug,access=off");
        assert_eq!(level, "info,monitor_store=debug,access=off");
        assert_eq!(moved, [("monitor_gateway::store", &["monitor_store"][..])]);
        let (level, moved) = super::current("monitor_gateway=debug,monitor_gateway::gateway=trace");
        assert_eq!(
            level,
            "monitor_gateway=debug,monitor_store=debug,monitor_detect=debug,monitor_gateway::gateway=trace"
        );
        assert!(moved.is_empty());
        let (level, _) = super::current("monitor_gateway::telemetry=debug");
        assert_eq!(
            level,
            "monitor_gateway::backend=debug,monitor_gateway::spool=debug"
        );
        assert_eq!(super::current("warn").0, "warn");
    }
}

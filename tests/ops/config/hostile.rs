//! Configuration files that somebody has made to be expensive: the work grows with the file, the file is
//! bounded, and so is the report (CONTRACT 33).

use super::world::{Run, check, monitor};

/// Lines of a report about a file that is wrong throughout.
const LONGEST_REPORT: usize = 310;

#[track_caller]
fn assert_refused(run: &Run, parts: &[&str]) {
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in parts {
        assert!(
            run.stderr.contains(part),
            "{part} is not in\n{}",
            run.stderr
        );
    }
    let lines = run.stderr.lines().count();
    assert!(lines <= LONGEST_REPORT, "{lines} lines");
}

#[test]
fn a_million_equal_lines_are_reported_by_the_first_hundred() {
    let run = check("all", &"a:\n".repeat(1_000_000), &[]);
    let first = "f.yaml:2: a: is set twice; allowed: once in its group";
    let last = "f.yaml:102: further keys are set twice; mend those that are listed first";
    assert_refused(&run, &[first, last]);
}

#[test]
fn unknown_keys_in_every_line_are_reported_by_the_first_two_hundred() {
    let yaml: String = (0..300_000)
        .map(|number| format!("k{number}: 1\n"))
        .collect();
    let last = "configuration: has further problems; mend those that are listed first";
    assert_refused(&check("all", &yaml, &[]), &["f.yaml:200: k199:", last]);
    let applications = "- {id: 1}\n".repeat(300_000);
    let yaml = format!("applications:\n{applications}");
    assert_refused(
        &check("gateway", &yaml, &[]),
        &["applications[0].id:", last],
    );
}

#[test]
fn a_file_has_bounds_on_its_size_its_depth_and_its_keys() {
    for (yaml, part) in [
        (
            "#\n".repeat(3 << 20),
            "f.yaml: is larger than 4 MiB; allowed:",
        ),
        (
            "- ".repeat(1 << 20),
            "f.yaml:1: is nested too deeply; allowed:",
        ),
        (
            "a: [".repeat(1_000),
            "f.yaml:1: is nested too deeply; allowed:",
        ),
        (
            format!("{}: 1", "k".repeat(1_000)),
            "f.yaml:1: has a key that is longer than 256 bytes",
        ),
    ] {
        assert_refused(&check("all", &yaml, &[]), &[part]);
    }
}

#[test]
fn a_device_without_an_end_is_no_configuration() {
    let run = monitor(&["check", "--config", "/dev/zero"], &[]);
    assert_refused(&run, &["/dev/zero: is larger than 4 MiB; allowed:"]);
    let run = check(
        "gateway",
        "upstream: {url: 'https://m', ca: /dev/zero}",
        &[],
    );
    assert_refused(
        &run,
        &["/dev/zero cannot be read: it is not a file; allowed:"],
    );
}

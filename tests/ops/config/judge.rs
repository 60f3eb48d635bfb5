//! The judge's keys (CONTRACT 33, 34): what belongs to one, and what cannot be meant together.

use super::world::check;

const PLACE: &str = "judge: {url: \"http://m.example\", model: m";

#[test]
fn what_cannot_be_meant_together_is_refused_with_its_key() {
    for (role, yaml, key, words) in [
        (
            "analysis",
            "judge: {model: m}",
            "judge.model",
            "no effect without a judge",
        ),
        (
            "analysis",
            "judge: {api_key: hush}",
            "judge.api_key",
            "no effect without a judge",
        ),
        (
            "analysis",
            "judge: {url: \"http://m\"}",
            "judge.model",
            "set JUDGE_MODEL",
        ),
        (
            "analysis",
            "judge: {url: upstream, model: m}",
            "judge.url",
            "requires a gateway in the same process",
        ),
        (
            "analysis",
            "judge: {url: \"ftp://m\", model: m}",
            "judge.url",
            "a scheme other",
        ),
        (
            "analysis",
            "judge: {url: \"http://m\", model: m, timeout: 20s, probe_interval: 10s}",
            "judge.probe_interval",
            "less than the timeout",
        ),
        (
            "analysis",
            "judge: {url: \"http://m\", model: m, chunk: 64KiB, max_text: 32KiB}",
            "judge.max_text",
            "less than the text of one call",
        ),
        (
            "analysis",
            "judge: {url: \"http://m\", model: m, chunk: 1KiB, max_text: 1MiB}",
            "judge.max_text",
            "more than 64 times",
        ),
        (
            "analysis",
            "judge: {url: \"http://m\", model: m, concurrency: 0}",
            "judge.concurrency",
            "1 to 1024",
        ),
        (
            "analysis",
            "listen: 127.0.0.1:4200\njudge: {url: \"http://127.0.0.1:4200\", model: m}",
            "judge.url",
            "own listener",
        ),
        (
            "all",
            "listen: 127.0.0.1:4100\nanalysis: {judge: {url: \"http://localhost:4100/v1\", model: m}}",
            "analysis.judge.url",
            "own listener",
        ),
        (
            "all",
            "upstream: {url: \"http://m\"}\nanalysis: {judge: {url: upstream}}",
            "analysis.judge.model",
            "set JUDGE_MODEL",
        ),
        (
            "analysis",
            "checks: {presidio: {url: \"http://p\", entities: {PERSON: nAmE}}}",
            "checks.presidio.entities.PERSON",
            "is not a pattern",
        ),
        (
            "analysis",
            "checks: {presidio: {url: \"http://p\", min_score: 2}}",
            "checks.presidio.min_score",
            "0 to 1",
        ),
        (
            "all",
            "analysis: {checks: {guard: {model: g}}}",
            "analysis.checks.guard.model",
            "guard.url",
        ),
        (
            "analysis",
            "checks: {guard: {url: \"http://g\", template: llama_guard}}",
            "checks.guard.model",
            "is not set",
        ),
    ] {
        let run = check(role, yaml, &[]);
        assert_ne!(run.code, 0, "{yaml}");
        assert!(run.stderr.contains(key), "{key}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
        assert!(!run.stderr.contains("hush"), "{}", run.stderr);
    }
}

#[test]
fn a_judge_with_all_it_needs_is_taken() {
    for (role, yaml) in [
        ("analysis", format!("{PLACE}}}")),
        ("analysis", format!("{PLACE}, timeout: 30s}}")),
        ("all", "analysis: {judge: {url: upstream}}".to_owned()),
        (
            "analysis",
            "checks: {presidio: {url: \"http://p\", entities: {DATE_TIME: DATE, ORG: none}}, guard: {url: \"http://g\"}}".to_owned(),
        ),
    ] {
        let run = check(role, &yaml, &[]);
        assert_eq!(run.code, 0, "{yaml}: {}", run.stderr);
    }
    let run = check(
        "analysis",
        "",
        &[("JUDGE_URL", "https://m/v1"), ("JUDGE_MODEL", "m")],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
}

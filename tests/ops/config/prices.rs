//! The price table: what it takes, and what it refuses with the way out (CONTRACT 33).

use super::world::{check, monitor};

fn table(currency: &str, models: &str) -> String {
    format!("prices:\n  currency: {currency}\n  models:\n    {models}\n")
}

#[test]
fn a_table_is_taken_under_the_analysis_servers_keys_in_every_role() {
    let own = table(
        "EUR",
        "m-1.5: {input: 2.50, cached_input: 0.25, cache_write: 3.125, output: 10, reasoning: 10.000001}\n    \
         m-*: {input: 0, output: 0}\n    '*': {input: 1000000000, output: 0.000001}",
    );
    let run = check("analysis", &own, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let below: String = own.lines().map(|line| format!("  {line}\n")).collect();
    let run = check("all", &format!("analysis:\n{below}"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = check("all", &own, &[]);
    assert!(
        run.stderr.contains("prices: is an unknown key"),
        "{}",
        run.stderr
    );
    assert_eq!(monitor(&["check", "--role", "analysis"], &[]).code, 0);
}

#[test]
fn what_is_wrong_is_named_with_its_key_and_the_way_out() {
    let models = "m: {input: 1, output: 2}";
    for (yaml, said) in [
        (
            table("eur", models),
            "prices.currency: \"eur\" is no currency code; allowed: three capital letters, such as EUR",
        ),
        (
            "prices: {currency: EUR}".to_owned(),
            "prices.currency: needs prices.models; allowed: names of models",
        ),
        (
            format!("prices: {{models: {{{models}}}}}"),
            "prices.models: needs prices.currency; allowed: three capital letters, such as EUR, or neither",
        ),
        (table("EUR", "[]"), "prices.models: is a list; allowed: "),
        (table("EUR", "{}"), "prices.models: is empty; allowed: "),
        (
            table("EUR", "m: 3"),
            "prices.models.m: is a number; allowed: ",
        ),
        (
            table("EUR", "m: {input: 1}"),
            "prices.models.m.output: is not set; allowed: the price of a million tokens, 0 where they cost nothing",
        ),
        (
            table("EUR", "m: {input: 1, output: 2, cached: 0.1}"),
            "prices.models.m.cached: is an unknown key; allowed: input, cached_input, cache_write, output, reasoning",
        ),
        (
            table("EUR", "m: {input: -1, output: 2}"),
            "prices.models.m.input: \"-1\" is no price; allowed: a decimal number from 0 to 1000000000",
        ),
        (
            table("EUR", "m: {input: 0.0000001, output: 2}"),
            "with at most 6 decimal places",
        ),
        (
            table("EUR", "\"a*b\": {input: 1, output: 2}"),
            "prices.models.a*b: has a * inside; allowed: one at the end",
        ),
        (
            table(
                "EUR",
                "m: {input: 1, output: 2}\n    m: {input: 2, output: 3}",
            ),
            "prices.models.m",
        ),
        (
            "prices: {models: {}, rate: 3}".to_owned(),
            "prices.rate: is an unknown key",
        ),
    ] {
        let run = check("analysis", &yaml, &[]);
        assert_eq!(run.code, 2, "{yaml}");
        assert!(run.stderr.contains(said), "{yaml}: {}", run.stderr);
    }
}

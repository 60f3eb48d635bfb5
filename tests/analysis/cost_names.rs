//! The names in the sums of costs: clients choose them, so their number is bounded and their texts are cleaned.

use crate::attachments::keep_originals;
use crate::batches::batch;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;
use support::api::{post, record};
use support::stack::{Builder, Folder, Stack};
use support::{KEY, eventually, within_a_day};

const PRICES: &str =
    "  prices: {currency: EUR, models: {m-1: {input: 2, output: 8}, m-*: {input: 1, output: 1}}}\n";

fn priced() -> Builder {
    Stack::all().yaml(PRICES)
}

fn parameters(model: &str, user: &str) -> Value {
    json!({"model": model, "user_id": user, "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
}

/// Sends these answers in one batch.
#[track_caller]
fn answers(stack: &Stack, parameters: impl Iterator<Item = Value>) {
    let id = stack.application_id();
    let lines: Vec<String> = parameters
        .map(|parameters| {
            let body =
                json!({"application_id": id, "message": "said", "additional_parameters": parameters});
            json!({"stage": "post", "body": body}).to_string()
        })
        .collect();
    let verdicts = batch(stack, &lines);
    assert_eq!(verdicts.len(), lines.len());
    for verdict in verdicts {
        assert_eq!(verdict["status"], 200, "{verdict}");
    }
}

/// The names of these sums with their calls, in order.
#[track_caller]
fn sums(stack: &Stack, group: &str) -> Vec<(String, u64)> {
    let path = format!("/statistics/costs?group_by={group}&limit=10000");
    let answer = stack.analysis(&path, KEY).json();
    let name = if group == "user" { "user_id" } else { group };
    let mut sums: Vec<_> = answer["costs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sum| {
            (
                sum[name].as_str().unwrap().to_owned(),
                sum["calls"].as_u64().unwrap(),
            )
        })
        .collect();
    sums.sort();
    sums
}

fn calls(sums: &[(String, u64)], name: &str) -> u64 {
    let found = sums.iter().find(|(one, _)| one == name);
    found.map_or(0, |(_, calls)| *calls)
}

/// Sends answers of new models until one of them counts as `other`: the server has read the names in the store, which
/// it tries again where the store was slow.
fn await_names(stack: &Stack) {
    let others = || calls(&sums(stack, "model"), "other");
    for number in 0..20 {
        let before = others();
        answers(
            stack,
            [parameters(&format!("probe-{number}"), "anna")].into_iter(),
        );
        if others() > before {
            return;
        }
        sleep(Duration::from_secs(1));
    }
    panic!("the names in the store were never read");
}

#[test]
fn sums_have_the_names_of_the_table_and_fifty_others() {
    within_a_day(|| {
        let folder = Folder::new();
        let mut stack = priced().folder(&folder).start();
        let names = (0..60).map(|n| format!("invented-{n:02}"));
        let names = names.chain(["m-1", "m-2", "m-3"].map(str::to_owned));
        answers(&stack, names.map(|name| parameters(&name, "anna")));
        let first = sums(&stack, "model");
        assert_eq!(first.len(), 53, "{first:?}");
        assert_eq!(
            (
                calls(&first, "m-1"),
                calls(&first, "m-*"),
                calls(&first, "other")
            ),
            (1, 2, 10)
        );
        let list = stack.analysis("/records?stage=post&limit=100", KEY).json();
        let listed = list["records"].as_array().unwrap();
        assert!(
            listed.iter().any(|record| record["model"] == "m-3"),
            "records have their own names"
        );
        assert!(listed.iter().any(|record| record["model"] == "invented-59"));
        let full = |kind: &str| {
            let series = format!("monitor_cost_names_full_total{{kind=\"{kind}\"}}");
            stack.metric(&series)
        };
        assert_eq!((full("model"), full("user")), (1.0, 0.0));
        // Another process knows the names that the store has.
        stack.process.signal("TERM");
        stack.process.await_exit();
        let again = priced().folder(&folder).start();
        await_names(&again);
        let before = sums(&again, "model");
        let known = first
            .iter()
            .find(|(name, _)| name.starts_with("invented-"))
            .unwrap();
        let more = ["new", "newer", "m-4", &known.0];
        answers(
            &again,
            more.into_iter().map(|name| parameters(name, "anna")),
        );
        let after = sums(&again, "model");
        assert_eq!(after.len(), before.len(), "{after:?}");
        let more = |name: &str| calls(&after, name) - calls(&before, name);
        assert_eq!((more("m-*"), more("other"), more(&known.0)), (1, 2, 1));
    });
}

#[test]
fn metrics_have_the_sums_by_application_and_entry_of_the_price_table() {
    let stack = priced().start();
    let (own, other) = (stack.application_id(), "other");
    let of = |name: &str, application: &str, part: &str, model: &str, priced: &str| {
        stack.metric(&format!(
            "monitor_application_{name}_total{{application=\"{application}\",{part},model=\"{model}\",priced=\"{priced}\"}}"
        ))
    };
    // They are there from the start, for the sums of dashboards.
    let metrics = stack.metrics();
    for series in [
        "tokens_total{application=\"other\",kind=\"input\",model=\"other\",priced=\"unpriced\"} 0",
        "cost_total{application=\"other\",currency=\"EUR\",model=\"other\",priced=\"priced\"} 0",
    ] {
        let series = format!("monitor_application_{series}\n");
        assert!(metrics.contains(&series), "{series}{metrics}");
    }
    let models = ["m-1", "m-2", "m-3", "anna@example.org", "invented"];
    answers(
        &stack,
        models.into_iter().map(|model| parameters(model, "anna")),
    );
    let input = |model: &str, priced: &str| of("tokens", &own, "kind=\"input\"", model, priced);
    eventually("calls without a price are counted", || {
        (input("other", "unpriced") == 2.0).then_some(())
    });
    let cost = |model: &str| of("cost", &own, "currency=\"EUR\"", model, "priced");
    // Two millionths and eight, of a token each; for the others one and one.
    for (model, expected) in [("m-1", 0.000_010), ("m-*", 0.000_004)] {
        eventually(model, || {
            ((cost(model) - expected).abs() < 1e-12).then_some(())
        });
    }
    assert_eq!((input("m-1", "priced"), input("m-*", "priced")), (1.0, 2.0));
    assert_eq!(
        of("tokens", other, "kind=\"input\"", other, "unpriced"),
        0.0
    );
    // The sums of all applications have their names and labels still.
    assert_eq!(
        stack.metric("monitor_call_tokens_total{kind=\"input\",priced=\"priced\"}"),
        3.0
    );
    let total = stack.metric("monitor_call_cost_total{currency=\"EUR\",priced=\"priced\"}");
    assert!((total - 0.000_014).abs() < 1e-12, "{total}");
    let metrics = stack.metrics();
    for private in ["anna", "invented", "m-2"] {
        assert!(!metrics.contains(private), "{private} in {metrics}");
    }
}

#[test]
fn sums_have_a_thousand_users() {
    within_a_day(|| {
        let stack = priced().start();
        answers(
            &stack,
            (0..1_000).map(|n| parameters("m-1", &format!("user {n}"))),
        );
        answers(
            &stack,
            (998..1_003).map(|n| parameters("m-1", &format!("user {n}"))),
        );
        let users = sums(&stack, "user");
        assert_eq!(users.len(), 1_001);
        assert_eq!((calls(&users, "other"), calls(&users, "user 999")), (3, 2));
        assert_eq!(calls(&sums(&stack, "model"), "m-1"), 1_005);
    });
}

/// Names of models, as servers send them.
const USUAL: [&str; 24] = [
    "gpt-4o-2024-08-06",
    "gpt-4.1-2025-04-14",
    "gpt-4-0125-preview",
    "gpt-3.5-turbo-16k-0613",
    "o1-2024-12-17",
    "chatgpt-4o-latest",
    "claude-3-5-sonnet-20241022",
    "claude-3-haiku-20240307",
    "claude-sonnet-4-5",
    "anthropic.claude-3-5-sonnet-20241022-v2:0",
    "gemini-1.5-pro-002",
    "gemini-2.5-flash-preview-05-20",
    "gemma-2-27b-it",
    "mistral-large-2411",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "codestral-2501",
    "meta-llama/Llama-3.1-405B-Instruct-FP8",
    "llama3.2:3b-instruct-q4_K_M",
    "Qwen/Qwen2.5-72B-Instruct",
    "deepseek-ai/DeepSeek-R1-0528",
    "microsoft/Phi-3.5-mini-instruct",
    "command-r-plus-08-2024",
    "amazon.nova-pro-v1:0",
    "grok-2-1212",
];

#[test]
fn usual_names_of_models_stay_as_they_are() {
    for services in ["", "  services: {dataclean: false}\n"] {
        let stack = priced().yaml(services).start();
        for model in USUAL {
            assert_eq!(said(&stack, model)["model"], model, "{services}");
        }
    }
}

/// The record of an answer of this model.
fn said(stack: &Stack, model: &str) -> Value {
    let body = json!({"application_id": stack.application_id(), "message": "said",
        "additional_parameters": parameters(model, "anna")});
    let answer = post(stack, "/process_response/", &body).json();
    record(stack, &answer["request_id"])
}

#[test]
fn the_name_of_a_model_is_cleaned_where_no_originals_are_kept() {
    let stack = priced().start();
    let text = "anna@example.org, case 4711";
    for (model, kept) in [
        (text, "[not kept]"),
        ("org/small-7b:q4_K_M", "org/small-7b:q4_K_M"),
        ("m-1", "m-1"),
        ("card:4111111111111111", "card:[BANK_CARD_NUMBER]"),
        ("m-2 for anna@example.org", "m-*"),
    ] {
        let record = said(&stack, model);
        assert_eq!(record["model"], kept);
        assert_eq!(record["additional_parameters"]["model"], kept);
        let priced = if kept.starts_with("m-") {
            "priced"
        } else {
            "unpriced"
        };
        assert_eq!(record["priced"], priced, "{model}");
    }
    keep_originals(&stack);
    assert_eq!(said(&stack, text)["model"], text);
}

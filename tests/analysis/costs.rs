//! What calls cost: the prices of the configuration on each record, fixed when it comes in, and their sums.

use crate::admin_world::{application, token};
use crate::batches::batch;
use serde_json::{Value, json};
use support::api::{post, record, records};
use support::line::order;
use support::request::Request;
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, eventually};

const PRE: &str = "/process_request/";
const POST: &str = "/process_response/";

/// Prices of a million tokens, as keys of `monitor all`.
fn prices(input: &str) -> String {
    format!(
        "  prices:\n    currency: EUR\n    models:\n      \
         m-1: {{input: {input}, cached_input: 0.5, cache_write: 2.5, output: 8, reasoning: 16}}\n      \
         m-*: {{input: 0.1, output: 0.2}}\n"
    )
}

fn priced() -> Stack {
    Stack::all().yaml(&prices("2")).start()
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 1000, "cached_tokens": 400, "cache_write_tokens": 100, "completion_tokens": 300,
        "reasoning_tokens": 120, "total_tokens": 1300,
    })
}

/// Sends an answer; gives its record.
#[track_caller]
fn answer(stack: &Stack, application: &str, parameters: Value) -> Value {
    let body = json!({"application_id": application, "message": "word ".repeat(40),
        "additional_parameters": parameters});
    let answer = post(stack, POST, &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    record(stack, &answer.json()["request_id"])
}

#[track_caller]
fn costs(stack: &Stack, query: &str) -> Value {
    let answer = stack.analysis(&format!("/statistics/costs?{query}"), KEY);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn each_kind_of_token_has_its_price_and_the_longest_name_wins() {
    let stack = priced();
    let id = stack.application_id();
    for (model, cost) in [
        // 500 at 2, 400 at 0.5, 100 at 2.5, 180 at 8, 120 at 16, of a million each.
        ("m-1", "0.00481"),
        // Without prices of their own, tokens of the cache cost as input and those of reasoning as output.
        ("m-1-mini", "0.00016"),
        ("m-2", "0.00016"),
    ] {
        let record = answer(&stack, &id, json!({"model": model, "usage": usage()}));
        assert_eq!(record["model"], model);
        assert_eq!(
            (&record["cost"], &record["currency"]),
            (&json!(cost), &json!("EUR"))
        );
        assert_eq!(record["priced"], "priced", "{model}");
        let mut counted = usage();
        counted["estimated"] = false.into();
        assert_eq!(record["usage"], counted);
    }
    let listed = records(&stack, "stage=post&limit=1");
    assert_eq!(
        (&listed[0]["cost"], &listed[0]["model"]),
        (&json!("0.00016"), &json!("m-2"))
    );
}

#[test]
fn a_model_without_a_price_is_unpriced_and_never_free() {
    let stack = priced();
    let id = stack.application_id();
    for parameters in [
        json!({"model": "other", "usage": usage()}),
        json!({"usage": usage()}),
        json!({"model": 7, "usage": usage()}),
    ] {
        let record = answer(&stack, &id, parameters);
        assert_eq!(record["priced"], "unpriced", "{record}");
        assert_eq!(
            (&record["cost"], &record["currency"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(record["usage"]["prompt_tokens"], 1000);
    }
    answer(&stack, &id, json!({"model": "m-1", "usage": usage()}));
    let sums = costs(&stack, "");
    let sums = sums["costs"].as_array().unwrap();
    let seen: Vec<_> = sums
        .iter()
        .map(|sum| {
            (
                &sum["priced"],
                &sum["calls"],
                &sum["cost"],
                &sum["prompt_tokens"],
            )
        })
        .collect();
    let (priced, unpriced) = (json!("priced"), json!("unpriced"));
    assert_eq!(
        seen,
        [
            (&priced, &json!(1), &json!("0.00481"), &json!(1000)),
            (&unpriced, &json!(3), &Value::Null, &json!(3000)),
        ]
    );
}

#[test]
fn without_usage_tokens_are_counted_in_the_texts_and_marked() {
    let stack = priced();
    let id = stack.application_id();
    let body = json!({"application_id": id, "message": "one two three",
        "additional_parameters": {"request_id": "x"}});
    let asked = post(&stack, PRE, &body).json();
    let prompt = asked["tokens"]["count"].as_u64().unwrap();
    let record = answer(&stack, &id, json!({"request_id": "x", "model": "m-2"}));
    let said = record["answer"]["tokens"]["count"].as_u64().unwrap();
    assert_eq!(record["priced"], "estimated");
    assert_eq!(record["usage"]["estimated"], true);
    assert_eq!(record["usage"]["prompt_tokens"], prompt);
    assert_eq!(record["usage"]["completion_tokens"], said);
    // 0.1 and 0.2 of a million tokens each, in ten-millionths.
    let expected = prompt + 2 * said;
    let cost: f64 = record["cost"].as_str().unwrap().parse().unwrap();
    assert_eq!((cost * 1e7).round() as u64, expected);
    // What a caller puts under the names is used as far as it is numbers.
    let odd = json!({"model": "m-2", "usage": {"prompt_tokens": "many", "completion_tokens": -3}});
    let record = answer(&stack, &id, odd);
    assert_eq!(record["usage"]["prompt_tokens"], Value::Null);
    assert_eq!(record["usage"]["estimated"], true);
    assert_eq!(
        (&record["priced"], &record["cost"]),
        (&json!("unpriced"), &Value::Null)
    );
}

#[test]
fn a_call_whose_prompt_nobody_counted_is_unpriced_and_never_cheaper() {
    let stack = priced();
    let id = stack.application_id();
    for parameters in [
        // No exchange, one whose prompt is not stored, and a server that counts the answer alone.
        json!({"model": "m-1"}),
        json!({"model": "m-1", "request_id": "nobody asked"}),
        json!({"model": "m-1", "usage": {"completion_tokens": 300}}),
    ] {
        let record = answer(&stack, &id, parameters);
        assert_eq!(record["priced"], "unpriced", "{record}");
        assert_eq!(
            (&record["cost"], &record["usage"]["prompt_tokens"]),
            (&Value::Null, &Value::Null)
        );
        assert!(record["usage"]["completion_tokens"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_stored_response_keeps_its_usage_and_counts_once() {
    let stack = priced();
    let id = stack.application_id();
    let parameters = |more: Value| {
        let mut all = json!({"model": "m-1", "usage": usage()});
        let more = more.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(more);
        all
    };
    let made = answer(&stack, &id, parameters(json!({})));
    let again = answer(&stack, &id, parameters(json!({"stored_response": true})));
    assert_eq!(again["usage"], made["usage"]);
    assert_eq!(again["model"], "m-1");
    for name in ["cost", "currency", "priced"] {
        assert!(again[name].is_null(), "{name}: {again}");
    }
    // In a batch, and without usage: nothing is estimated.
    let body = json!({"application_id": id, "message": "said", "additional_parameters":
        {"model": "m-1", "request_id": "polled", "stored_response": true}});
    let line = json!({"stage": "post", "body": body});
    let verdicts = batch(&stack, &[line.to_string()]);
    let polled = record(&stack, &verdicts[0]["body"]["request_id"]);
    assert_eq!(polled["priced"], Value::Null);
    assert_eq!(polled["usage"]["completion_tokens"], Value::Null);
    // Only true says so.
    answer(&stack, &id, parameters(json!({"stored_response": false})));
    answer(&stack, &id, parameters(json!({"stored_response": "yes"})));
    let sums = costs(&stack, "");
    assert_eq!(sums["costs"].as_array().unwrap().len(), 1, "{sums}");
    assert_eq!(sums["costs"][0]["calls"], 3);
    assert_eq!(sums["costs"][0]["cost"], "0.01443");
}

#[test]
fn prompts_tool_calls_and_calls_that_got_no_answer_cost_nothing() {
    let stack = priced();
    let id = stack.application_id();
    let parameters = json!({"model": "m-1", "usage": usage()});
    let body =
        json!({"application_id": id, "message": "hello", "additional_parameters": parameters});
    let prompt = post(&stack, PRE, &body).json();
    let failed = json!({"model": "m-1", "error": {"type": "upstream_error", "code": 502}});
    let body = json!({"application_id": id, "message": "", "additional_parameters": failed});
    let failed = post(&stack, POST, &body).json();
    let body = json!({"application_id": id, "tool_name": "shell", "tool_call_id": "c", "tool_input": {},
        "additional_parameters": {"model": "m-1", "usage": usage()}});
    let tool = post(&stack, "/process_tool_call/", &body).json();
    for id in [
        &prompt["request_id"],
        &failed["request_id"],
        &tool["arguments"]["request_id"],
    ] {
        let record = record(&stack, id);
        for name in ["usage", "cost", "currency", "priced"] {
            assert!(record[name].is_null(), "{name}: {record}");
        }
    }
    assert_eq!(costs(&stack, "")["costs"], json!([]));
}

#[test]
fn contract_35_a_reload_takes_other_prices_for_records_that_come_then() {
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).yaml(&prices("2")).start();
    let id = stack.application_id();
    let parameters = || json!({"model": "m-1", "usage": usage()});
    let before = answer(&stack, &id, parameters());
    let path = stack.configuration();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("{input: 2,", "{input: 4,")).unwrap();
    let out = order(&stack, "reload", "all");
    assert!(out.status.success(), "{out:?}");
    let reload = stack.operations("/status").json()["reload"].clone();
    assert_eq!(reload["detail"], "everything is in force");
    let after = answer(&stack, &id, parameters());
    assert_eq!(
        (&before["cost"], &after["cost"]),
        (&json!("0.00481"), &json!("0.00581"))
    );
    assert_eq!(record(&stack, &before["request_id"])["cost"], "0.00481");
}

#[test]
fn sums_are_grouped_narrowed_and_written_as_csv() {
    let stack = priced();
    let (one, two) = (application(&stack, "one"), application(&stack, "two"));
    let say = |application: &str, user: &str, model: &str| {
        answer(
            &stack,
            application,
            json!({"user_id": user, "model": model, "usage": usage()}),
        );
    };
    say(&one, "anna", "m-1");
    say(&one, "=cmd|calc", "m-2");
    say(&two, "anna", "m-1");
    let grouped = costs(&stack, "group_by=application,user,model");
    assert_eq!(grouped["costs"].as_array().unwrap().len(), 3);
    assert_eq!(grouped["truncated"], false);
    let models = costs(&stack, "group_by=model");
    assert_eq!(models["costs"][0]["model"], "m-1");
    assert_eq!(models["costs"][0]["cost"], "0.00962");
    assert_eq!(models["costs"][0]["day"], Value::Null);
    let anna = costs(
        &stack,
        &format!("application_id={one}&user_id=anna&group_by=day"),
    );
    assert_eq!(anna["costs"].as_array().unwrap().len(), 1);
    assert_eq!(anna["costs"][0]["cost"], "0.00481");
    assert_eq!(anna["costs"][0]["day"], anna["to"]);
    let cut = costs(&stack, "group_by=model&limit=1");
    assert_eq!(
        (cut["costs"].as_array().unwrap().len(), &cut["truncated"]),
        (1, &json!(true))
    );
    // Nothing in a file could say that it is cut.
    let cut = "/statistics/costs?group_by=model&limit=1&format=csv";
    let refused = stack.analysis(cut, KEY);
    assert_eq!(refused.status(), 422, "{}", refused.text());
    for part in ["more than 1 sums", "from, to", "group_by", "10000"] {
        assert!(refused.text().contains(part), "{}", refused.text());
    }
    let whole = stack.analysis(&cut.replace("limit=1", "limit=2"), KEY);
    assert_eq!(whole.text().lines().count(), 3);
    let csv = stack.analysis("/statistics/costs?group_by=user&format=csv", KEY);
    // It names users: no cache keeps it.
    for (header, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(csv.head.header(header), Some(value));
    }
    assert!(
        csv.head
            .header("content-type")
            .unwrap()
            .starts_with("text/csv")
    );
    let text = csv.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("day,application_id,user_id,model,priced,calls,"));
    assert!(
        lines[1].starts_with(",,anna,,priced,2,2000,800,200,600,240,0.00962,EUR"),
        "{text}"
    );
    assert!(lines[2].contains("\"'=cmd|calc\""), "{text}");
    for wrong in [
        "group_by=week",
        "from=2026-02-01&to=2026-01-01",
        "format=xml",
        "limit=0",
        "x=1",
    ] {
        let refused = stack.analysis(&format!("/statistics/costs?{wrong}"), KEY);
        assert_eq!(refused.status(), 422, "{wrong}");
    }
}

#[test]
fn contract_30_a_bound_reader_sees_the_costs_of_its_application() {
    let stack = priced();
    let (own, other) = (application(&stack, "own"), application(&stack, "other"));
    for id in [&own, &other] {
        answer(&stack, id, json!({"model": "m-1", "usage": usage()}));
    }
    let (_, reader) = token(
        &stack,
        json!({"name": "r", "scopes": ["read"], "application_id": own}),
    );
    let seen = stack
        .analysis("/statistics/costs?group_by=application", &reader)
        .json();
    assert_eq!(seen["costs"].as_array().unwrap().len(), 1);
    assert_eq!(seen["costs"][0]["application_id"], own.as_str());
    let path = format!("/statistics/costs?application_id={other}");
    assert_eq!(stack.analysis(&path, &reader).status(), 403);
    let (_, ingest) = token(&stack, json!({"name": "i", "scopes": ["ingest"]}));
    assert_eq!(stack.analysis("/statistics/costs", &ingest).status(), 403);
}

#[test]
fn a_call_through_the_gateway_has_its_cost_and_the_metrics_count_it() {
    let upstream = Upstream::ok();
    let yaml = "  prices: {currency: USD, models: {\"test-*\": {input: 3, output: 15}}}\n";
    let stack = Stack::all().upstream(&upstream).yaml(yaml).start();
    let body = json!({"model": "asked", "messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(stack.call(&Request::chat(body.to_string())).status(), 200);
    let record = eventually("the answer's record", || {
        records(&stack, "stage=post").into_iter().next()
    });
    // One token at 3 and two at 15, of a million each.
    assert_eq!(
        (&record["cost"], &record["model"]),
        (&json!("0.000033"), &json!("test-model"))
    );
    let of = |series: &str| stack.metric(series);
    eventually("the tokens of the request", || {
        (of("monitor_call_tokens_total{kind=\"input\",priced=\"priced\"}") == 1.0).then_some(())
    });
    eventually("the cost", || {
        let cost = of("monitor_call_cost_total{currency=\"USD\",priced=\"priced\"}");
        ((cost - 0.000_033).abs() < 1e-12).then_some(())
    });
    for (kind, priced, tokens) in [
        ("output", "priced", 2.0),
        ("output", "unpriced", 0.0),
        ("reasoning", "priced", 0.0),
    ] {
        let series = format!("monitor_call_tokens_total{{kind=\"{kind}\",priced=\"{priced}\"}}");
        assert_eq!(of(&series), tokens, "{series}");
    }
}

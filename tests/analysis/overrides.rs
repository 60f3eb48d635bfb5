//! §2.8, §4.4: rules that come with the request, and nothing else.

use serde_json::{Value, json};
use support::api::{authorised, post, record, records};
use support::request::Request;
use support::slow_search;
use support::stack::Stack;
use support::{KEY, assert_envelope};

const REQUEST: &str = "/process_request/override/";
const RESPONSE: &str = "/process_response/override/";

fn inline(inline: &Value) -> Value {
    json!({"source": "inline", "inline": inline})
}

fn body(stack: &Stack, message: &str, validation_config: Value) -> Value {
    json!({
        "application_id": stack.application_id(),
        "message": message,
        "validation_config": validation_config,
    })
}

#[track_caller]
fn check(stack: &Stack, path: &str, message: &str, rules: &Value) -> Value {
    let response = post(stack, path, &body(stack, message, inline(rules)));
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

#[test]
fn section_4_4_only_the_rules_of_the_request_decide() {
    // CONTRACT 25, 27.
    let stack = Stack::all().start();
    let text = "ORD-123456 from a@example.org, 10.0.0.1";
    let order = json!({"name": "ORDER", "regex": "ORD-\\d{6}"});
    for (dataclean, cleaned, types) in [
        (
            json!({}),
            "ORD-123456 from [EMAILS], [IP]",
            json!(["EMAILS", "IP"]),
        ),
        (
            json!({"patterns": ["IP", order]}),
            "[ORDER] from a@example.org, [IP]",
            json!(["ORDER", "IP"]),
        ),
        (
            json!({"enabled": true, "clean_type": "deletion", "patterns": [order, "EMAILS"]}),
            "from, 10.0.0.1",
            json!(["ORDER", "EMAILS"]),
        ),
        (
            json!({"clean_type": "Detection", "patterns": ["EMAILS"]}),
            text,
            json!(["EMAILS"]),
        ),
        (
            json!({"patterns": ["EMAILS", "IP"],
                "allowed_patterns": [{"name": "ours", "regex": ".+@example\\.org"}]}),
            "ORD-123456 from a@example.org, [IP]",
            json!(["IP"]),
        ),
        (json!({"patterns": []}), text, json!([])),
    ] {
        for path in [REQUEST, RESPONSE] {
            let answer = check(&stack, path, text, &json!({"dataclean": dataclean}));
            let found = answer["dataclean"]["types"].as_array().unwrap().iter();
            let found: Vec<_> = found.map(|found| &found["type"]).collect();
            assert_eq!(
                (answer["dataclean"]["cleaned_text"].as_str(), json!(found)),
                (Some(cleaned), types.clone())
            );
            assert_eq!(
                (&answer["status"], &answer["errors"]),
                (&json!("success"), &json!([]))
            );
        }
    }
    for rules in [json!({}), json!({"dataclean": {"enabled": false}})] {
        let dataclean = &check(&stack, REQUEST, text, &rules)["dataclean"];
        assert_eq!(
            (&dataclean["flagged"], &dataclean["cleaned_text"]),
            (&json!(false), &Value::Null)
        );
    }
}

#[test]
fn contract_25_a_custom_pattern_counts_as_much_as_right_check_digits_and_the_longer_find_stands() {
    let stack = Stack::all().start();
    let text = "pay with 4111 1111 1111 1111 now";
    for (regex, cleaned) in [
        ("pay with [0-9 ]+\\d", "[PAY] now"),
        ("1111 1111", "pay with [BANK_CARD_NUMBER] now"),
    ] {
        let patterns = json!(["BANK_CARD_NUMBER", {"name": "PAY", "regex": regex}]);
        let rules = json!({"dataclean": {"patterns": patterns}});
        let answer = check(&stack, REQUEST, text, &rules);
        assert_eq!(answer["dataclean"]["cleaned_text"], cleaned);
    }
}

#[test]
fn contract_27_everything_wrong_with_an_override_is_told_with_field_and_limit() {
    let stack = Stack::all().start();
    let dataclean = |dataclean: Value| inline(&json!({"dataclean": dataclean}));
    let regex = |regex: &str| dataclean(json!({"patterns": ["IP", {"name": "N", "regex": regex}]}));
    let path = "validation_config.inline.dataclean";
    for (config, field, words) in [
        (Value::Null, "validation_config".to_owned(), "missing"),
        (
            json!("inline"),
            "validation_config".to_owned(),
            "must be an object",
        ),
        (
            json!({"inline": {}}),
            "validation_config.source".to_owned(),
            "missing; allowed: inline",
        ),
        (
            json!({"source": "ui", "inline": {}}),
            "validation_config.source".to_owned(),
            "allowed: inline",
        ),
        (
            json!({"source": "inline"}),
            "validation_config.inline".to_owned(),
            "missing",
        ),
        (dataclean(json!([])), path.to_owned(), "must be an object"),
        (
            dataclean(json!({"enabled": "yes"})),
            format!("{path}.enabled"),
            "true or false",
        ),
        (
            dataclean(json!({"clean_type": "HIDE"})),
            format!("{path}.clean_type"),
            "MASKING, DELETION, DETECTION",
        ),
        (
            dataclean(json!({"patterns": "IP"})),
            format!("{path}.patterns"),
            "must be a list",
        ),
        (
            dataclean(json!({"patterns": ["ip"]})),
            format!("{path}.patterns[0]"),
            "BANK_CARD_NUMBER",
        ),
        (
            dataclean(json!({"patterns": vec!["IP"; 101]})),
            format!("{path}.patterns"),
            "at most 100",
        ),
        (
            dataclean(json!({"patterns": [{"regex": "x"}]})),
            format!("{path}.patterns[0].name"),
            "missing",
        ),
        (
            regex("(a"),
            format!("{path}.patterns[1].regex"),
            "unclosed group",
        ),
        (
            regex("a*"),
            format!("{path}.patterns[1].regex"),
            "empty text",
        ),
        (
            regex("(?=a)b"),
            format!("{path}.patterns[1].regex"),
            "look-around",
        ),
        (
            regex("\\w{500}{500}"),
            format!("{path}.patterns[1].regex"),
            "10485760 bytes",
        ),
        (
            regex(&"a".repeat(2001)),
            format!("{path}.patterns[1].regex"),
            "1 to 2000",
        ),
        (
            inline(&json!({"custom": {"policies": [{"name": "p"}]}})),
            "validation_config.inline.custom.policies[0].prompt".to_owned(),
            "missing",
        ),
        (
            inline(&json!({"guardrails": true})),
            "validation_config.inline.guardrails".to_owned(),
            "must be an object",
        ),
    ] {
        let response = post(&stack, REQUEST, &body(&stack, "x", config));
        let text = response.text();
        assert_eq!(response.status(), 422, "{field}: {text}");
        assert_envelope(&response.body, "invalid_request_error", 422);
        let message = response.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{field}: {message}"
        );
        assert!(message.contains(words), "{words}: {message}");
    }
    let both = dataclean(json!({"patterns": ["ip"], "clean_type": 1, "enabled": 0}));
    let text = post(&stack, RESPONSE, &body(&stack, "x", both)).text();
    for field in ["patterns[0]", "clean_type", "enabled"] {
        assert!(text.contains(field), "{text}");
    }
    assert!(records(&stack, "").is_empty());
}

#[test]
fn contract_26_what_is_asked_for_and_not_there_is_partial_success() {
    let stack = Stack::all().start();
    let rules = json!({"guardrails": {"enabled": true}, "dataclean": {},
        "custom": {"enabled": true, "policies": [{"name": "loans", "prompt": "No loans."}]}});
    let answer = check(&stack, REQUEST, "a@example.org", &rules);
    assert_eq!(answer["status"], "partial_success");
    assert_eq!(
        answer["errors"],
        json!([
            "custom_policy: no judge is configured (judge.url); the policies were matched by \
             keywords only"
        ])
    );
    assert_eq!(answer["dataclean"]["cleaned_text"], "[EMAILS]");
    let answer = check(&stack, RESPONSE, "x", &rules);
    assert_eq!(answer["errors"], json!([]));
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(answer["warnings"][0]["code"], "policies_ignored");
    assert!(
        answer["warnings"][0]["message"]
            .as_str()
            .unwrap()
            .contains("custom")
    );
}

#[test]
fn contract_26_a_service_that_is_off_at_the_deployment_is_told() {
    let services = "  services: {dataclean: false, custom_policy: false}\n";
    let stack = Stack::all().yaml(services).start();
    let rules = json!({"dataclean": {}, "custom": {"policies": [{"name": "n", "prompt": "p"}]}});
    let answer = check(&stack, REQUEST, "a@example.org", &rules);
    assert_eq!(
        (&answer["status"], &answer["errors"]),
        (
            &json!("partial_success"),
            &json!([
                "dataclean: switched off at this deployment (services)",
                "custom_policy: switched off at this deployment (services)"
            ])
        )
    );
    assert_eq!(answer["dataclean"]["cleaned_text"], Value::Null);
    let answer = check(&stack, REQUEST, "a@example.org", &json!({}));
    assert_eq!(answer["status"], "success");
}

#[test]
fn an_override_is_recorded_once_with_its_rules_and_no_version() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let mut body = body(
        &stack,
        "ORD-1",
        inline(&json!({"dataclean": {"clean_type": "detection",
        "patterns": [{"name": "ORDER", "regex": "ORD-\\d"}]}})),
    );
    body["additional_parameters"] = json!({"request_id": "once", "session_id": "s"});
    let first = post(&stack, REQUEST, &body).json();
    assert_eq!(first["dataclean"]["cleaned_text"], "ORD-1");
    assert_eq!(
        post(&stack, "/api/process_request/override", &body).json(),
        first
    );
    let other = post(&stack, RESPONSE, &body).json();
    assert_ne!(other["request_id"], first["request_id"]);
    let list = records(&stack, "session_id=s&stage=pre");
    assert_eq!((list.len(), &list[0]["rules_version"]), (1, &Value::Null));
    let record = record(&stack, &first["request_id"]);
    assert_eq!(
        (&record["message"], &record["cleaned_text"]),
        (&Value::Null, &json!("[ORDER]"))
    );
}

#[test]
fn offsets_are_code_points_whatever_stands_before_a_find() {
    // CONTRACT 36, 37.
    let stack = Stack::all().start();
    let rules =
        json!({"dataclean": {"patterns": ["IP", {"name": "ORDER", "regex": "(?i)ord\\d+"}]}});
    for lead in [
        "",
        "\u{0} ",
        "שלום \u{202e}",
        "e\u{301}\u{302} ",
        "👩‍👩‍👧 ",
        "\u{fffd} ",
        "Ёж — ",
    ] {
        let text = format!("{lead}ORD7 10.0.0.1");
        let answer = check(&stack, REQUEST, &text, &rules);
        let at = lead.chars().count();
        assert_eq!(
            answer["dataclean"]["entities"],
            json!([{"type": "ORDER", "start": at, "end": at + 4}, {"type": "IP", "start": at + 5, "end": at + 13}]),
            "{lead:?}"
        );
    }
    let body = format!(
        r#"{{"application_id":"{}","message":"\ud83d\u0000 ORD7","validation_config":{}}}"#,
        stack.application_id(),
        inline(&rules)
    );
    let answer = authorised(Request::post(REQUEST, body))
        .call(stack.analysis_addr)
        .json();
    assert_eq!(answer["dataclean"]["entities"][0]["start"], 3);
}

#[test]
fn a_runaway_regex_on_a_large_message_is_stopped_and_told() {
    // CONTRACT 26.
    let stack = Stack::all().start();
    let text = slow_search::digits(4 << 20);
    let patterns = slow_search::patterns(20);
    let rules = json!({"dataclean": {"patterns": patterns}});
    let answer = check(&stack, REQUEST, &text, &rules);
    assert_eq!(answer["status"], "partial_success");
    let error = answer["errors"][0].as_str().unwrap();
    assert!(
        error.contains("N0 was stopped") && error.contains("1000 ms"),
        "{error}"
    );
    // What may hold finds is not kept; the caller has it.
    assert_eq!(
        answer["dataclean"]["cleaned_text"].as_str().map(str::len),
        Some(text.len())
    );
    assert_eq!(
        record(&stack, &answer["request_id"])["cleaned_text"],
        Value::Null
    );
}

#[test]
fn the_number_of_custom_finds_is_bounded_and_told() {
    // CONTRACT 26.
    let stack = Stack::all().start();
    let rules = json!({"dataclean": {"patterns": [{"name": "X", "regex": "x"}]}});
    let answer = check(&stack, REQUEST, &"x ".repeat(100_001), &rules);
    assert_eq!(
        answer["dataclean"]["types"],
        json!([{"type": "X", "count": 100_000}])
    );
    assert_eq!(
        answer["errors"],
        json!([
            "dataclean: custom pattern X was stopped: more than 100000 findings of custom patterns"
        ])
    );
}

#[test]
fn a_token_may_send_as_many_requests_as_the_deployment_says() {
    // CONTRACT 27.
    let stack = Stack::all()
        .yaml("  limits: {requests_per_second: 1}\n")
        .start();
    let request = authorised(Request::post("/process_request/", "{}"));
    let answers: Vec<_> = (0..20).map(|_| request.call(stack.analysis_addr)).collect();
    let refused = answers
        .iter()
        .find(|answer| answer.status() == 429)
        .unwrap();
    assert_envelope(&refused.body, "invalid_request_error", 429);
    assert_eq!(refused.head.header("retry-after"), Some("1"));
    assert_eq!(answers[0].status(), 422);
    assert_eq!(stack.analysis("/records", KEY).status(), 429);
}

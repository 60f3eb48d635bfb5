//! A Presidio analyzer and a guard model beside the engine (CONTRACT 25, 26, 37): what they are asked,
//! how their answers are handled, and that one which fails lets nothing pass in silence.

use serde_json::{Value, json};
use support::api::{patch, post, record};
use support::judge::completion;
use support::server::Received;
use support::stack::Stack;
use support::upstream::{Upstream, json};

fn body(request: &Received) -> Value {
    serde_json::from_slice(&request.body).expect("a JSON body")
}

/// Finds these words wherever they stand, as these entity types.
fn presidio(words: &'static [(&'static str, &'static str)]) -> Upstream {
    Upstream::answering(move |request| {
        let body = body(request);
        let text = body["text"].as_str().expect("a text");
        let found = words.iter().filter_map(|(kind, word)| {
            let start = text[..text.find(word)?].chars().count();
            let end = start + word.chars().count();
            Some(
                json!({"entity_type": kind, "start": start, "end": end, "score": 0.85,
                "analysis_explanation": null, "recognition_metadata": {}}),
            )
        });
        json(200, &Value::from_iter(found).to_string())
    })
}

fn with_presidio(server: &Upstream, more: &str) -> Stack {
    let url = server.url();
    Stack::all()
        .yaml(&format!(
            "  checks: {{presidio: {{url: \"{url}\"{more}}}}}\n"
        ))
        .start()
}

#[track_caller]
fn cleaned(stack: &Stack, text: &str, dataclean: &Value) -> Value {
    let body = json!({"application_id": stack.application_id(), "message": text,
        "validation_config": {"source": "inline", "inline": {"dataclean": dataclean}}});
    let answer = post(stack, "/process_request/override/", &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn contract_25_finds_of_presidio_are_masked_with_the_engines_own_one_winner_per_place() {
    let server = presidio(&[
        ("PERSON", "Zaphod"),
        ("EMAIL_ADDRESS", "10.0.0.1"),
        ("NRP", "Ёж"),
        ("DATE_TIME", "tomorrow"),
    ]);
    let stack = with_presidio(&server, ", entities: {DATE_TIME: DATE}");
    let rules = json!({"patterns": ["NAME", "IP", "EMAILS", "DATE"]});
    let answer = cleaned(&stack, "Ёж 👩 zq Zaphod 10.0.0.1 tomorrow", &rules);
    assert_eq!(
        (&answer["status"], &answer["errors"]),
        (&json!("success"), &json!([]))
    );
    let text = answer["dataclean"]["cleaned_text"].as_str().unwrap();
    assert!(
        text.starts_with("Ёж 👩 zq [NAME] ") && text.ends_with(" [DATE]"),
        "{text}"
    );
    assert_eq!(
        answer["dataclean"]["entities"][0],
        json!({"type": "NAME", "start": 8, "end": 14})
    );
    let asked = body(&server.last());
    assert_eq!(
        (&asked["language"], &asked["score_threshold"]),
        (&json!("en"), &json!(0.5))
    );
    assert_eq!(server.last().head.target(), "/analyze");
    let types = asked["entities"].as_array().unwrap();
    assert!(
        types.contains(&json!("PERSON")) && !types.contains(&json!("CREDIT_CARD")),
        "{asked}"
    );
    // An exception of the rules holds for its finds too, and what nobody looks for is not asked about.
    let allowed =
        json!({"patterns": ["NAME"], "allowed_patterns": [{"name": "us", "regex": "Zaphod"}]});
    let answer = cleaned(&stack, "zq Zaphod", &allowed);
    assert_eq!(answer["dataclean"]["cleaned_text"], "zq Zaphod");
    let before = server.heads();
    cleaned(&stack, "zq Zaphod", &json!({"patterns": ["KPP"]}));
    cleaned(&stack, "", &json!({"patterns": ["NAME"]}));
    assert_eq!(server.heads(), before);
}

#[test]
fn a_text_in_cyrillic_is_asked_about_in_its_language() {
    let server = presidio(&[]);
    let stack = with_presidio(&server, ", language_cyrillic: ru");
    for (text, language) in [("Привет, world", "ru"), ("Hello, мир", "en"), ("12", "en")] {
        cleaned(&stack, text, &json!({}));
        assert_eq!(body(&server.last())["language"], language, "{text}");
    }
}

#[test]
fn contract_26_a_presidio_that_fails_is_told_and_the_text_counts_as_cleaned_in_part() {
    for (words, answer) in [
        ("status 500", json(500, "{}")),
        ("not a list of findings", json(200, "{\"error\":\"x\"}")),
        (
            "beyond the text",
            json(
                200,
                r#"[{"entity_type":"PERSON","start":0,"end":900,"score":1}]"#,
            ),
        ),
        (
            "ends before it begins",
            json(
                200,
                r#"[{"entity_type":"PERSON","start":2,"end":1,"score":1}]"#,
            ),
        ),
    ] {
        let server = Upstream::raw(answer);
        let stack = with_presidio(&server, "");
        let answer = cleaned(&stack, "of a@example.org", &json!({}));
        assert_eq!(answer["status"], "partial_success", "{words}");
        let error = answer["errors"][0].as_str().unwrap();
        assert!(
            error.starts_with("dataclean: the Presidio analyzer gave no verdict")
                && error.contains(words),
            "{error}"
        );
        assert_eq!(answer["dataclean"]["cleaned_text"], "of [EMAILS]");
        let kept = record(&stack, &answer["request_id"]);
        assert_eq!(
            kept["cleaned_text"],
            Value::Null,
            "what may not be clean is not kept"
        );
    }
}

#[test]
fn a_text_beyond_what_presidio_is_sent_is_told() {
    let server = presidio(&[("PERSON", "Zaphod")]);
    let stack = with_presidio(&server, ", max_text: 1KiB");
    let text = format!("zq Zaphod {}", "ё".repeat(600));
    let answer = cleaned(&stack, &text, &json!({"patterns": ["NAME"]}));
    assert_eq!(answer["status"], "partial_success");
    assert!(
        answer["errors"][0].as_str().unwrap().contains("max_text"),
        "{answer}"
    );
    assert_eq!(
        answer["dataclean"]["types"],
        json!([{"type": "NAME", "count": 1}])
    );
}

/// An answer of which the guardrails are unsure once a leak takes a score of 1 to be flagged.
const UNSURE: &str = "The cat's key is AKIA3TQ7ZK2M9PWX4RBD";

/// What is said of an answer of a model.
#[track_caller]
fn checked(stack: &Stack, text: &str) -> Value {
    let body = json!({"application_id": stack.application_id(), "message": text});
    let answer = post(stack, "/process_response/", &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

fn with_guard(server: &Upstream, template: &str) -> Stack {
    let url = server.url();
    let guard = format!("{{url: \"{url}\", template: {template}, model: g}}");
    let stack = Stack::all()
        .yaml(&format!("  checks: {{guard: {guard}}}\n"))
        .start();
    let rules = json!({"post": {"guardrails": {"categories": {"secret_leak": 1.0}}}});
    let path = format!("/applications/{}", stack.application_id());
    patch(&stack, &path, &json!({"version": 1, "rules": rules}));
    stack
}

#[test]
fn a_guard_model_is_asked_in_the_grey_zone_only_and_its_opinion_counts() {
    let server = Upstream::answering(|request| {
        let call = body(request);
        let user = call["messages"][1]["content"].as_str().expect("a question");
        let asked: Value = serde_json::from_str(user).expect("JSON");
        let harmful = asked["text"]
            .as_str()
            .is_some_and(|text| text.contains("cat"));
        let named = if harmful {
            json!(["secret_leak"])
        } else {
            json!([])
        };
        completion(&json!({"nonce": asked["nonce"], "categories": named}).to_string())
    });
    let stack = with_guard(&server, "json");
    let answer = checked(&stack, UNSURE);
    assert_eq!(
        (&answer["status"], &answer["guardrails"]["flagged"]),
        (&json!("success"), &json!(true)),
        "{answer}"
    );
    let first = &answer["guardrails"]["categories"][0];
    assert_eq!(
        (&first["name"], &first["reason"], &first["flagged"]),
        (&json!("secret_leak"), &json!("guard_model"), &json!(true))
    );
    assert_eq!(server.heads(), 1);
    let id = answer["request_id"].as_str().unwrap();
    let again = post(&stack, &format!("/records/{id}/explain"), &json!({})).json();
    assert_eq!(again["differences"], json!([]), "{again}");
    assert_eq!(server.heads(), 1, "judged again without being asked");
    let passed = checked(&stack, &UNSURE.replace("cat", "dog"));
    assert_eq!(
        (&passed["status"], &passed["guardrails"]["flagged"]),
        (&json!("success"), &json!(false))
    );
    assert_eq!(server.heads(), 2);
    checked(&stack, "A red bicycle.");
    assert_eq!(server.heads(), 2, "the engine is sure of that");
}

#[test]
fn moderation_endpoints_and_llama_guards_are_understood() {
    let moderation = json!({"id": "m", "model": "g", "results": [{"flagged": true,
        "categories": {}, "category_scores": {}}]});
    for (template, answer, path) in [
        (
            "moderation",
            json(200, &moderation.to_string()),
            "/v1/moderations",
        ),
        (
            "llama_guard",
            completion("\n\nunsafe"),
            "/v1/chat/completions",
        ),
    ] {
        let server = Upstream::raw(answer);
        let stack = with_guard(&server, template);
        let answer = checked(&stack, UNSURE);
        assert_eq!(
            answer["guardrails"]["flagged"], true,
            "{template}: {answer}"
        );
        assert_eq!(server.last().head.target(), path);
        assert!(String::from_utf8_lossy(&server.last().body).contains("AKIA3TQ7ZK2M9PWX4RBD"));
    }
}

#[test]
fn contract_26_a_guard_model_that_fails_is_told_and_flags_nothing() {
    for (template, words, answer) in [
        ("moderation", "status 503", json(503, "{}")),
        ("moderation", "not a moderation result", json(200, "[]")),
        (
            "llama_guard",
            "neither safe nor unsafe",
            completion("I cannot say"),
        ),
        (
            "json",
            "not exactly the JSON",
            completion("{\"categories\":[]}"),
        ),
    ] {
        let server = Upstream::raw(answer);
        let stack = with_guard(&server, template);
        let answer = checked(&stack, UNSURE);
        assert_eq!(
            (&answer["status"], &answer["guardrails"]["flagged"]),
            (&json!("partial_success"), &json!(false)),
            "{answer}"
        );
        let error = answer["errors"][0].as_str().unwrap();
        assert!(
            error.starts_with("guardrails: the guard model gave no verdict")
                && error.contains(words),
            "{error}"
        );
        let page = stack.operations("/status").json();
        assert_eq!(page["checks"]["guard"]["answers"], true);
    }
}

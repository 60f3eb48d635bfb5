//! Judges that fail (CONTRACT 26): each gives `partial_success` with the reason and
//! is counted; none lets a text pass in silence, and none blocks one.

use crate::judging::{judged, loans};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::api::authorised;
use support::fault::free_port;
use support::judge::{Judge, Question, completion};
use support::request::Request;
use support::stack::Stack;
use support::upstream::{Upstream, json};
use support::{KEY, eventually};

type Words = fn(&Question) -> String;

/// The text is one that the cue words of the policy would flag.
const TEXT: &str = "which loan is best?";

#[track_caller]
fn assert_no_verdict(answer: &Value, words: &str) {
    assert_eq!(answer["status"], "partial_success", "{words}: {answer}");
    assert_eq!(
        answer["custom_policy"]["flagged"], false,
        "{words}: {answer}"
    );
    let policy = &answer["custom_policy"]["policies"][0];
    assert_eq!(
        (&policy["name"], &policy["reason"]),
        (&json!("loans"), &json!("not judged"))
    );
    let errors = answer["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{answer}");
    let error = errors[0].as_str().unwrap();
    assert!(
        error.starts_with("custom_policy: the judge gave no verdict: "),
        "{error}"
    );
    assert!(error.contains(words), "{words}: {error}");
}

fn failures(stack: &Stack, outcome: &str) -> f64 {
    stack.metric(&format!(
        r#"monitor_remote_checks_total{{check="judge",outcome="{outcome}"}}"#
    ))
}

#[test]
fn words_that_are_not_exactly_a_verdict_are_none() {
    let table: [(&str, Words); 10] = [
        ("not exactly the JSON", |_| "The text is fine.".to_owned()),
        ("not exactly the JSON", |q| {
            format!("Sure! {}", q.verdict(|_| true))
        }),
        ("not exactly the JSON", |q| {
            format!("```json\n{}\n```", q.verdict(|_| true))
        }),
        ("not exactly the JSON", |q| {
            q.verdict(|_| true).replace("true", "1")
        }),
        ("not exactly the JSON", |q| {
            q.verdict(|_| true).replace("\"reason\"", "\"why\"")
        }),
        ("not exactly the JSON", |_| "{\"flagged\":true}".to_owned()),
        ("not exactly the JSON", |_| String::new()),
        ("another question", |q| {
            let nonce = q.asked["nonce"].as_str().unwrap();
            q.verdict(|_| true)
                .replace(nonce, "00000000000000000000000000000000")
        }),
        ("one verdict for each", |q| {
            q.verdict(|_| true).replace("\"n\":1", "\"n\":2")
        }),
        ("one verdict for each", |q| {
            json!({"nonce": q.asked["nonce"], "verdicts": []}).to_string()
        }),
    ];
    let (count, table) = (table.len(), Arc::new(table));
    let rows = table.clone();
    let judge = Judge::saying(move |question| {
        let row: usize = question.text().rsplit(' ').next().unwrap().parse().unwrap();
        rows[row].1(question)
    });
    let stack = Stack::all().yaml(&judge.yaml("")).start();
    for (row, (words, _)) in table.iter().enumerate() {
        assert_no_verdict(&judged(&stack, &format!("{TEXT} {row}"), &loans()), words);
    }
    assert_eq!(failures(&stack, "nonsense"), count as f64);
    assert_eq!(stack.metric(r#"monitor_remote_down{check="judge"}"#), 0.0);
}

#[test]
fn a_server_that_does_not_answer_as_one_gives_no_verdict() {
    for (words, outcome, answer) in [
        ("status 500", "status", json(500, "{}")),
        ("status 400", "status", json(400, "{}")),
        ("status 302", "status", json(302, "{}")),
        (
            "not a chat completion",
            "nonsense",
            json(200, "{\"choices\":5}"),
        ),
        ("not a chat completion", "nonsense", json(200, "prose")),
        ("has no text", "nonsense", json(200, "{\"choices\":[]}")),
        (
            "has no text",
            "nonsense",
            json(200, r#"{"choices":[{"message":{"content":null}}]}"#),
        ),
        (
            "larger than 1048576 bytes",
            "too_large",
            json(200, &" ".repeat(2 << 20)),
        ),
        (
            "connection broke",
            "unreachable",
            b"nonsense\r\n\r\n".to_vec(),
        ),
    ] {
        let judge = Judge(Upstream::raw(answer));
        let stack = Stack::all().yaml(&judge.yaml("")).start();
        assert_no_verdict(&judged(&stack, TEXT, &loans()), words);
        assert_eq!(failures(&stack, outcome), 1.0, "{words}");
    }
    let url = format!("http://127.0.0.1:{}", free_port());
    let stack = Stack::all()
        .env("JUDGE_URL", url)
        .env("JUDGE_MODEL", "m")
        .start();
    assert_no_verdict(&judged(&stack, TEXT, &loans()), "no connection");
    assert_eq!(failures(&stack, "unreachable"), 1.0);
}

#[test]
fn a_judge_that_hangs_or_never_ends_costs_its_timeout_and_no_more() {
    let hangs = Judge(Upstream::scripted(|peer| {
        peer.read_request();
        peer.closed_within(Duration::from_secs(30));
    }));
    let trickles = Judge(Upstream::scripted(|peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while peer.closed_within(Duration::from_millis(50)).is_none() {
            peer.send_chunk(" ");
        }
    }));
    let cut = Judge(Upstream::scripted(|peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
        peer.close();
    }));
    for (judge, words, outcome) in [
        (hangs, "no whole answer within its timeout", "late"),
        (trickles, "no whole answer within its timeout", "late"),
        (cut, "broke off", "unreachable"),
    ] {
        let stack = Stack::all().yaml(&judge.yaml(", timeout: 500ms")).start();
        let started = Instant::now();
        assert_no_verdict(&judged(&stack, TEXT, &loans()), words);
        assert!(started.elapsed() < Duration::from_secs(8), "{words}");
        assert_eq!(failures(&stack, outcome), 1.0, "{words}");
    }
}

#[test]
fn a_judge_that_is_down_is_asked_once_per_interval_and_comes_back() {
    let well = Arc::new(AtomicBool::new(false));
    let is_well = well.clone();
    let judge = Judge(Upstream::answering(move |request| {
        match is_well.load(Ordering::SeqCst) {
            true => completion(&Question::of(request).verdict(|_| true)),
            false => json(503, "{}"),
        }
    }));
    let stack = Stack::all()
        .yaml(&judge.yaml(", timeout: 1s, probe_interval: 1s"))
        .start();
    for n in 0..20 {
        let words = if n < 3 { "status 503" } else { "" };
        assert_no_verdict(&judged(&stack, &format!("{TEXT} {n}"), &loans()), words);
    }
    // Three failures and, should the machine be slow, a probe or two; the others were not asked.
    let asked = judge.seen().heads.len();
    assert!((3..10).contains(&asked), "{asked}");
    assert!(failures(&stack, "down") >= 10.0);
    assert_eq!(stack.metric(r#"monitor_remote_down{check="judge"}"#), 1.0);
    let page = stack.operations("/status").json();
    assert_eq!(page["checks"]["judge"]["answers"], false);
    well.store(true, Ordering::SeqCst);
    eventually("it is asked again", || {
        let answer = judged(&stack, TEXT, &loans());
        (answer["status"] == "success").then_some(())
    });
    assert_eq!(stack.metric(r#"monitor_remote_down{check="judge"}"#), 0.0);
    assert!(stack.stderr().contains("judge answers again"));
}

#[test]
fn a_failing_judge_is_told_beside_what_the_engine_found() {
    let judge = Judge(Upstream::raw(json(500, "{}")));
    let stack = Stack::all().yaml(&judge.yaml("")).start();
    let body = json!({"application_id": stack.application_id(), "message": "loan of a@example.org",
        "validation_config": {"source": "inline", "inline": {
            "dataclean": {}, "custom": {"policies": loans()}}}});
    let request = Request::post("/process_request/override/", body.to_string());
    let answer = authorised(request).call(stack.analysis_addr).json();
    assert_eq!(answer["status"], "partial_success");
    assert_eq!(answer["dataclean"]["cleaned_text"], "loan of [EMAILS]");
    let kept = stack.analysis("/records?verdict=custom_policy", KEY).json();
    assert_eq!(kept["records"], json!([]));
}

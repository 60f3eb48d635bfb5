//! Fair shares between access keys, shown at the one place where a test decides when a turn ends: the judge.

use crate::judging::loans;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;
use support::api::{authorised, new_key, post};
use support::eventually;
use support::judge::{Judge, Question, completion};
use support::request::Request;
use support::stack::Stack;
use support::upstream::Upstream;

/// A new access key for messages.
#[track_caller]
fn key(stack: &Stack, name: &str) -> String {
    new_key(stack, &json!({"name": name, "scopes": ["ingest"]}))
}

/// The verdict on a text, asked for with this access key.
#[track_caller]
fn judged_for(stack: &Stack, key: &str, text: &str) -> Value {
    judged_of(stack, &stack.application_id(), key, text)
}

/// The same, of this application.
#[track_caller]
fn judged_of(stack: &Stack, application: &str, key: &str, text: &str) -> Value {
    let body = json!({
        "application_id": application,
        "message": text,
        "validation_config": {"source": "inline", "inline": {
            "guardrails": {"enabled": false},
            "dataclean": {"enabled": false},
            "custom": {"enabled": true, "policies": loans()},
        }},
    });
    let request = Request::post("/process_request/override/", body.to_string()).without_key();
    let request = request.header("Authorization", &format!("Bearer {key}"));
    let answer = request.call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_key_that_floods_the_judge_takes_no_turn_and_no_place_in_the_queue_of_another() {
    let (release, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let judge = Judge(Upstream::scripted(move |peer| {
        while let Some(request) = peer.read_request() {
            let _ = gate.lock().unwrap().recv_timeout(Duration::from_secs(20));
            let question = Question::of(&request);
            peer.send(completion(&question.verdict(|_| false)));
        }
    }));
    let limits = ", concurrency: 1, queue: 4, timeout: 20s";
    let stack = Stack::all().yaml(&judge.yaml(limits)).start();
    let (flooding, quiet) = (key(&stack, "flooding"), key(&stack, "quiet"));
    let status = || stack.operations("/status").json()["checks"]["judge"].clone();
    std::thread::scope(|scope| {
        let ask = |key: &str, text: String| {
            let (stack, key) = (&stack, key.to_owned());
            scope.spawn(move || judged_for(stack, &key, &text)["status"].clone())
        };
        let mut floods: Vec<_> = (0..5)
            .map(|number| ask(&flooding, format!("flood {number}")))
            .collect();
        eventually("one is asked and four wait", || {
            let status = status();
            (status["calls"] == 1 && status["waiting"] == 4).then_some(())
        });
        let more = judged_for(&stack, &flooding, "one more");
        assert_eq!(more["status"], "partial_success", "the flood is bounded");
        let asked = ask(&quiet, "quiet".to_owned());
        eventually("the quiet one waits too", || {
            (status()["waiting"] == 5).then_some(())
        });
        (0..6).for_each(|_| release.send(()).unwrap());
        assert_eq!(asked.join().unwrap(), "success", "it was judged");
        for flood in floods.drain(..) {
            assert_eq!(flood.join().unwrap(), "success");
        }
    });
    let order: Vec<_> = judge
        .questions()
        .iter()
        .map(|it| it.text().to_owned())
        .collect();
    let place = order.iter().position(|text| text == "quiet").unwrap();
    assert!(
        place <= 2,
        "one turn of the flood goes before it: {order:?}"
    );
}

#[test]
fn a_hundred_keys_of_one_application_take_no_more_turns_than_one() {
    const KEYS: usize = 100;
    const QUIET: usize = 4;
    let (release, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let judge = Judge(Upstream::scripted(move |peer| {
        while let Some(request) = peer.read_request() {
            // From the end of the channel on nothing is held back.
            let _ = gate.lock().unwrap().recv();
            let question = Question::of(&request);
            peer.send(completion(&question.verdict(|_| false)));
        }
    }));
    let limits = ", concurrency: 1, queue: 200, timeout: 60s";
    let stack = Stack::all().yaml(&judge.yaml(limits)).start();
    let application = |name: &str| {
        let made = post(&stack, "/applications", &json!({"name": name}));
        assert_eq!(made.status(), 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let bound = |application: &str, name: &str| {
        let key = json!({"name": name, "scopes": ["ingest"], "application_id": application});
        new_key(&stack, &key)
    };
    let (flooding, quiet) = (application("flooding"), application("quiet"));
    let keys: Vec<_> = (0..KEYS)
        .map(|number| bound(&flooding, &format!("flooding {number}")))
        .collect();
    let quiet_key = bound(&quiet, "quiet");
    let waiting = |expected: usize| {
        eventually("all of them wait", || {
            let status = stack.operations("/status").json()["checks"]["judge"].clone();
            (status["waiting"] == expected).then_some(())
        });
    };
    std::thread::scope(|scope| {
        let ask = |application: &str, key: &str, text: String| {
            let (stack, application, key) = (&stack, application.to_owned(), key.to_owned());
            scope.spawn(move || judged_of(stack, &application, &key, &text)["status"].clone())
        };
        let mut asked: Vec<_> = (0..)
            .zip(&keys)
            .map(|(number, key)| ask(&flooding, key, format!("flood {number}")))
            .collect();
        waiting(KEYS - 1);
        for number in 0..QUIET {
            asked.push(ask(&quiet, &quiet_key, format!("quiet {number}")));
        }
        waiting(KEYS - 1 + QUIET);
        drop(release);
        for asked in asked {
            assert_eq!(asked.join().unwrap(), "success");
        }
    });
    let questions = judge.questions();
    let order = questions.iter().map(|it| it.text().starts_with("quiet"));
    let order: Vec<bool> = order.collect();
    let place = order.iter().rposition(|is_quiet| *is_quiet).unwrap();
    // One of the flood is asked already, and one goes before each.
    assert!(place <= 2 * QUIET + 2, "the last one is number {place}");
}

#[test]
fn turns_are_shown_in_status_and_counted() {
    let stack = Stack::all().start();
    let long = "word ".repeat(20_000);
    let body = json!({"application_id": stack.application_id(), "message": long});
    let answer = authorised(Request::post("/process_request/", body.to_string()));
    let answer = answer.call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let waited = r#"monitor_analysis_wait_seconds_count{urgency="awaited"}"#;
    assert_eq!(stack.metric(waited), 1.0);
    let deferred = Request::post("/process_request/", body.to_string());
    let deferred = authorised(deferred).header("X-Monitor-Deferred", "1");
    assert_eq!(deferred.call(stack.analysis_addr).status(), 200);
    let waited = r#"monitor_analysis_wait_seconds_count{urgency="deferred"}"#;
    assert_eq!(stack.metric(waited), 1.0);
    for reason in ["full", "late"] {
        let series = format!(r#"monitor_analysis_refused_total{{reason="{reason}"}}"#);
        assert_eq!(stack.metric(&series), 0.0);
    }
    let shown = stack.operations("/status").json()["analysis"].clone();
    assert!(shown["places"].as_u64().is_some_and(|places| places >= 2));
    for idle in ["running", "waiting", "waiting_bytes", "access_keys"] {
        eventually("nothing runs any more", || {
            let shown = stack.operations("/status").json()["analysis"].clone();
            (shown[idle] == 0).then_some(())
        });
    }
}

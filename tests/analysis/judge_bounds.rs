//! What bounds the judge (§2.8, CONTRACT 37): verdicts that are remembered, texts in pieces, calls under
//! way and calls that wait.

use crate::judging::{judged, loans};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::eventually;
use support::judge::{Judge, completion};
use support::stack::Stack;
use support::upstream::Upstream;

#[test]
fn a_verdict_is_remembered_and_one_with_errors_is_not() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let judge = Judge::saying(
        move |question| match counted.fetch_add(1, Ordering::SeqCst) {
            0 => "no JSON".to_owned(),
            _ => question.verdict(|_| true),
        },
    );
    let stack = Stack::all().yaml(&judge.yaml("")).start();
    let statuses: Vec<_> = (0..4)
        .map(|_| judged(&stack, "same", &loans())["status"].clone())
        .collect();
    assert_eq!(
        json!(statuses),
        json!(["partial_success", "success", "success", "success"])
    );
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(stack.metric("monitor_judge_cache_hits_total"), 2.0);
    judged(
        &stack,
        "same",
        &json!([{"name": "loans", "prompt": "No loans at all."}]),
    );
    judged(&stack, "other", &loans());
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    assert_eq!(
        stack.metric(r#"monitor_remote_checks_total{check="judge",outcome="answered"}"#),
        3.0
    );
}

#[test]
fn a_long_text_is_judged_in_pieces_and_what_is_beyond_the_bound_is_told() {
    let judge = Judge::flagging("loan");
    let stack = Stack::all()
        .yaml(&judge.yaml(", chunk: 1KiB, max_text: 4KiB"))
        .start();
    let filler = "слово ".repeat(200);
    let answer = judged(&stack, &format!("{filler} a loan"), &loans());
    assert_eq!(
        (&answer["status"], &answer["custom_policy"]["flagged"]),
        (&json!("success"), &json!(true))
    );
    assert!(judge.questions().len() >= 3);
    assert!(
        judge
            .questions()
            .iter()
            .all(|question| question.text().len() <= 1024)
    );
    let answer = judged(
        &stack,
        &format!("{} a loan", "слово ".repeat(600)),
        &loans(),
    );
    assert_eq!(
        (&answer["status"], &answer["custom_policy"]["flagged"]),
        (&json!("partial_success"), &json!(false))
    );
    assert!(
        answer["errors"][0]
            .as_str()
            .unwrap()
            .contains("judge.max_text"),
        "{answer}"
    );
    assert_eq!(
        stack.metric(r#"monitor_remote_checks_total{check="judge",outcome="cut"}"#),
        1.0
    );
}

#[test]
fn no_more_calls_than_configured_are_under_way_and_what_waits_is_bounded() {
    let most = Arc::new(AtomicUsize::new(0));
    let now = Arc::new(AtomicUsize::new(0));
    let (seen_most, seen_now) = (most.clone(), now.clone());
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let judge = Judge(Upstream::scripted(move |peer| {
        while let Some(request) = peer.read_request() {
            let calls = seen_now.fetch_add(1, Ordering::SeqCst) + 1;
            seen_most.fetch_max(calls, Ordering::SeqCst);
            let _ = gate.lock().unwrap().recv_timeout(Duration::from_secs(8));
            let question = support::judge::Question::of(&request);
            seen_now.fetch_sub(1, Ordering::SeqCst);
            peer.send(completion(&question.verdict(|_| false)));
        }
    }));
    let stack = Stack::all()
        .yaml(&judge.yaml(", concurrency: 2, queue: 3"))
        .start();
    let status = || stack.operations("/status").json()["checks"]["judge"].clone();
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..5)
            .map(|n| {
                let stack = &stack;
                scope.spawn(move || judged(stack, &format!("text {n}"), &loans())["status"].clone())
            })
            .collect();
        eventually("two are asked and three wait", || {
            let status = status();
            (status["calls"] == 2 && status["waiting"] == 3).then_some(())
        });
        let over = judged(&stack, "one more", &loans());
        assert_eq!(over["status"], "partial_success");
        assert!(
            over["errors"][0]
                .as_str()
                .unwrap()
                .contains("too many calls are waiting"),
            "{over}"
        );
        (0..5).for_each(|_| release.send(()).unwrap());
        for asked in asked {
            assert_eq!(asked.join().unwrap(), "success");
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 2);
    assert_eq!(
        stack.metric(r#"monitor_remote_checks_total{check="judge",outcome="busy"}"#),
        1.0
    );
}

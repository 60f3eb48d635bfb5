//! Exchanges and the tools that are called in them (CONTRACT 48).

use monitor_model::{RecordId, Stage};
use monitor_store::{Erasure, Exchange, NewRecord, RecordSummary, ToolCall};
use support::bed::{Bed, MORNING_MS, everything};
use uuid::Uuid;

pub(crate) fn tool(call_id: &str) -> ToolCall {
    ToolCall {
        name: "найти\0".to_owned(),
        call_id: call_id.to_owned(),
    }
}

/// The arguments or the result of a tool call.
fn part(bed: &Bed, stage: Stage, call_id: &str) -> NewRecord {
    NewRecord {
        stage,
        tool: Some(tool(call_id)),
        message: Some(format!("{stage:?} of {call_id}").into()),
        ..bed.exchange("x\0")
    }
}

fn side(bed: &Bed, id: &str, stage: Stage) -> Exchange {
    Exchange {
        application_id: bed.application,
        id: id.to_owned(),
        stage,
    }
}

/// UI A5, B3: what a list shows of an exchange, whichever of its records it has.
pub(crate) async fn a_line_of_a_list_has_both_messages_of_its_exchange(bed: &Bed) {
    let long = "дом \0".repeat(200);
    let text = |stage, text: &str| {
        let mut record = bed.exchange("x\0");
        record.stage = stage;
        record.answer.dataclean.cleaned_text = Some(text.into());
        record
    };
    let prompt = bed.keep(text(Stage::PreCall, "what [EMAILS] asks")).await;
    let call = bed.keep(part(bed, Stage::PostCall, "1")).await;
    let answer = bed.keep(text(Stage::PostCall, &long)).await;
    let alone = bed.keep(bed.text("alone")).await;
    bed.keep(bed.exchange("y")).await;
    let all = bed.all(everything()).await;
    let lines = |of: Vec<RecordSummary>| async move {
        let mut lines = bed.store.lines(&of).await.unwrap();
        lines.sort_by_key(|line| line.summary.seq);
        lines
    };
    let only =
        |id: RecordId| -> Vec<_> { all.iter().filter(|one| one.id == id).cloned().collect() };
    for (one, expected) in [
        (prompt, vec![prompt, answer]),
        (answer, vec![prompt, answer]),
        (call, vec![prompt, call, answer]),
        (alone, vec![alone]),
    ] {
        let found = lines(only(one)).await;
        let ids: Vec<_> = found.iter().map(|line| line.summary.id).collect();
        assert_eq!(ids, expected);
        for line in found.iter().filter(|line| line.summary.id == prompt) {
            assert_eq!(line.beginning.as_deref(), Some("what [EMAILS] asks"));
            assert!(all.contains(&line.summary));
        }
    }
    let whole = lines(all.clone()).await;
    assert_eq!(whole.len(), all.len(), "each once");
    let answer = whole.iter().find(|line| line.summary.id == answer).unwrap();
    let beginning = answer.beginning.as_deref().unwrap();
    assert!(long.starts_with(beginning) && beginning.len() < long.len());
    assert!(bed.store.lines(&[]).await.unwrap().is_empty());
}

pub(crate) async fn a_tool_call_comes_back_beside_its_messages(bed: &Bed) {
    let other = bed.add_application("other").await;
    let mut answer = bed.exchange("x\0");
    answer.stage = Stage::PostCall;
    let prompt = bed.keep(bed.exchange("x\0")).await;
    let mut ids = Vec::new();
    for (stage, call) in [
        (Stage::PostCall, "1"),
        (Stage::PreCall, "1"),
        (Stage::PostCall, "2\0"),
    ] {
        ids.push(bed.keep(part(bed, stage, call)).await);
    }
    let answer = bed.keep(answer).await;
    bed.keep(bed.exchange("y")).await;
    let foreign = NewRecord {
        application_id: other,
        ..part(bed, Stage::PreCall, "3")
    };
    bed.keep(foreign).await;
    for (stage, id) in [(Stage::PreCall, prompt), (Stage::PostCall, answer)] {
        let found = bed.store.message_of(&side(bed, "x\0", stage)).await;
        let found = found.unwrap().unwrap();
        assert_eq!((found.id, found.tool), (id, None));
    }
    let answer = bed.store.message_of(&side(bed, "y", Stage::PostCall)).await;
    assert_eq!(answer.unwrap(), None);
    let calls = bed.store.tool_calls(bed.application, "x\0", 10).await;
    let calls = calls.unwrap();
    let found: Vec<_> = calls.iter().map(|part| part.summary.id).collect();
    assert_eq!(found, ids);
    assert_eq!(calls[0].message.as_deref(), Some("PostCall of 1"));
    assert_eq!(calls[2].summary.tool, Some(tool("2\0")));
    let first = bed.store.tool_calls(bed.application, "x\0", 1).await;
    assert_eq!(first.unwrap()[0].summary.id, ids[0]);
    for id in ["y", "x", ""] {
        let none = bed.store.tool_calls(bed.application, id, 10).await;
        assert!(none.unwrap().is_empty(), "{id:?}");
    }
    let names: Vec<_> = bed
        .all(everything())
        .await
        .iter()
        .map(|record| record.name())
        .collect();
    let expected = [
        "tool_result",
        "user_prompt",
        "llm_answer",
        "tool_arguments",
        "tool_result",
        "tool_arguments",
        "user_prompt",
    ];
    assert_eq!(names, expected);
    let version = bed.store.application(bed.application).await.unwrap();
    let version = version.unwrap().version;
    let removed = bed
        .store
        .remove_application(bed.application, version, None)
        .await;
    removed.unwrap();
    let none = bed.store.tool_calls(bed.application, "x\0", 10).await;
    assert!(none.unwrap().is_empty());
    let none = bed
        .store
        .message_of(&side(bed, "x\0", Stage::PreCall))
        .await;
    assert_eq!(none.unwrap(), None);
}

pub(crate) async fn a_part_of_a_tool_call_is_kept_once(bed: &Bed) {
    let first = bed.store.insert(part(bed, Stage::PostCall, "1")).await;
    let again = bed.store.insert(part(bed, Stage::PostCall, "1")).await;
    assert_eq!(
        first.unwrap().request_id,
        again.unwrap().request_id,
        "the first answer"
    );
    let mut tasks = Vec::new();
    for number in 0..40 {
        let record = part(bed, Stage::PreCall, &(number % 20).to_string());
        let store = bed.store.clone();
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(bed.all(everything()).await.len(), 21);
    let alone = NewRecord {
        exchange_id: None,
        ..part(bed, Stage::PreCall, "1")
    };
    for _ in 0..2 {
        let id = monitor_model::RecordId::random();
        let mut record = alone.clone();
        record.answer.request_id = id;
        assert_eq!(bed.keep(record).await, id);
    }
}

pub(crate) async fn tool_calls_of_a_removed_user_go_with_the_exchange(bed: &Bed) {
    let mut prompt = bed.exchange("x\0");
    prompt.user_id = Some("анна".to_owned());
    bed.keep(prompt).await;
    for number in 0..30 {
        bed.keep(part(bed, Stage::PreCall, &number.to_string()))
            .await;
    }
    let mut named = part(bed, Stage::PostCall, "own");
    named.user_id = Some("борис".to_owned());
    let stays = bed.keep(named).await;
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: "анна".to_owned(),
        application_id: None,
        at_ms: MORNING_MS,
    };
    bed.store.add_tombstone(&erasure, None).await.unwrap();
    let mut gone = 0;
    loop {
        match bed.store.erase_step(&erasure).await.unwrap().records {
            0 => break,
            records => gone += records,
        }
    }
    assert_eq!(gone, 31);
    assert_eq!(bed.ids(everything()).await, [stays]);
}

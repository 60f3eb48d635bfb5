//! Sessions: records of one `session_id` of one application (CONTRACT 5).

use monitor_model::Stage;
use monitor_store::{NewRecord, SessionFilter, SessionSummary};
use support::bed::{Bed, MORNING_MS};

fn of_session(bed: &Bed, session: &str, created_at_ms: i64) -> NewRecord {
    NewRecord {
        session_id: Some(session.to_owned()),
        created_at_ms,
        ..bed.record()
    }
}

/// Every session of a filter, page by page.
async fn all(bed: &Bed, filter: SessionFilter) -> Vec<SessionSummary> {
    let mut filter = SessionFilter { limit: 3, ..filter };
    let mut sessions: Vec<SessionSummary> = Vec::new();
    loop {
        let page = bed.store.sessions(&filter).await.unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else {
            return sessions;
        };
        filter.before = Some((last.last_ms, last.application_id, last.session_id.clone()));
        sessions.extend(page);
    }
}

pub(crate) async fn records_of_a_session_are_put_together(bed: &Bed) {
    let mut prompt = of_session(bed, "s", MORNING_MS + 5);
    prompt.exchange_id = Some("x".to_owned());
    prompt.user_id = Some("first".to_owned());
    prompt.answer.tokens.count = 3;
    let mut answer = prompt.clone();
    answer.stage = Stage::PostCall;
    answer.answer.request_id = bed.record().answer.request_id;
    answer.user_id = Some("second".to_owned());
    answer.created_at_ms = MORNING_MS + 9;
    answer.answer.custom_policy.flagged = true;
    answer.answer.dataclean.flagged = true;
    let mut nameless = of_session(bed, "s", MORNING_MS + 2);
    nameless.answer.tokens.count = 10;
    let again = prompt.clone();
    for record in [prompt, answer, nameless, again, bed.record()] {
        bed.keep(record).await;
    }
    let expected = SessionSummary {
        application_id: bed.application,
        session_id: "s".to_owned(),
        user_id: Some("second".to_owned()),
        first_ms: MORNING_MS + 2,
        last_ms: MORNING_MS + 9,
        messages: 3,
        flagged: 1,
        tokens: 16,
    };
    assert_eq!(all(bed, SessionFilter::default()).await, [expected]);
}

pub(crate) async fn equal_names_of_two_applications_are_two_sessions(bed: &Bed) {
    let other = bed.add_application("other").await;
    let mut foreign = of_session(bed, "s", MORNING_MS);
    foreign.application_id = other;
    foreign.user_id = Some("u".to_owned());
    bed.keep(foreign).await;
    bed.keep(of_session(bed, "s", MORNING_MS)).await;
    let sessions = all(bed, SessionFilter::default()).await;
    assert_eq!(sessions.len(), 2);
    assert!(sessions.iter().all(|session| session.messages == 1));
    let of_one = SessionFilter {
        application_id: Some(bed.application),
        ..SessionFilter::default()
    };
    let of_user = SessionFilter {
        user_id: Some("u".to_owned()),
        ..SessionFilter::default()
    };
    let (own, users) = (
        all(bed, of_one.clone()).await,
        all(bed, of_user.clone()).await,
    );
    assert_eq!((own.len(), own[0].application_id), (1, bed.application));
    assert_eq!((users.len(), users[0].application_id), (1, other));
    let both = SessionFilter {
        application_id: of_one.application_id,
        ..of_user
    };
    assert!(all(bed, both).await.is_empty());
}

pub(crate) async fn pages_go_from_the_latest_to_the_oldest_also_between_equal_times(bed: &Bed) {
    let names = [
        "a", "B", "é", "я", "100%", "a_b", "שלום", "nul\0", "z", "ab",
    ];
    for (index, name) in names.iter().enumerate() {
        let at = MORNING_MS + index as i64 / 4;
        let mut record = of_session(bed, name, at);
        record.user_id = Some("u".to_owned());
        bed.keep(record).await;
    }
    let own = SessionFilter {
        application_id: Some(bed.application),
        ..SessionFilter::default()
    };
    let users = SessionFilter {
        user_id: Some("u".to_owned()),
        ..SessionFilter::default()
    };
    for filter in [SessionFilter::default(), own, users] {
        let sessions = all(bed, filter).await;
        assert!(sessions.is_sorted_by(|one, next| one.last_ms >= next.last_ms));
        let mut seen: Vec<_> = sessions.iter().map(|one| &*one.session_id).collect();
        let mut expected = names.to_vec();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected);
    }
}

pub(crate) async fn the_time_of_the_latest_record_and_what_was_flagged_narrow_them(bed: &Bed) {
    let other = bed.add_application("other").await;
    for (name, at) in [("a", 0), ("b", 10), ("b", 20), ("c", 30), ("d", 40)] {
        let mut record = of_session(bed, name, MORNING_MS + at);
        record.answer.guardrails.flagged = at == 10 || at == 40;
        record.user_id = Some("u".to_owned());
        if name == "d" {
            record.application_id = other;
        }
        bed.keep(record).await;
    }
    let names = async |filter: SessionFilter| {
        let sessions = all(bed, filter).await;
        let names = sessions.into_iter().map(|one| one.session_id);
        names.collect::<Vec<_>>()
    };
    let any = SessionFilter::default;
    let from_ms = Some(MORNING_MS + 20);
    let to_ms = Some(MORNING_MS + 40);
    let from = SessionFilter { from_ms, ..any() };
    assert_eq!(names(from).await, ["d", "c", "b"]);
    let to = SessionFilter { to_ms, ..any() };
    assert_eq!(names(to).await, ["c", "b", "a"]);
    let flagged = SessionFilter {
        only_flagged: true,
        ..any()
    };
    assert_eq!(names(flagged.clone()).await, ["d", "b"]);
    let own = SessionFilter {
        application_id: Some(bed.application),
        ..flagged.clone()
    };
    assert_eq!(names(own).await, ["b"]);
    let all_of_it = SessionFilter {
        user_id: Some("u".to_owned()),
        from_ms,
        to_ms,
        ..flagged
    };
    assert_eq!(names(all_of_it).await, ["b"]);
}

//! Every refusal of CONTRACT 27: status, envelope, header.

use super::{MAX_BODY, World};
use axum::body::Body;
use axum::http::Request;
use http_body_util::{BodyExt, Full};
use monitor_model::{ApplicationId, Secret};
use monitor_store::Scope;
use serde_json::json;

#[tokio::test]
async fn a_token_that_is_missing_or_unknown_gives_401() {
    // CONTRACT 27.
    let world = World::new().await;
    for request in [
        Request::post("/process_request/").body(Body::from("x")),
        Request::get("/records")
            .header("authorization", "Bearer ")
            .body(Body::empty()),
        Request::get("/records")
            .header("authorization", "Basic abc")
            .body(Body::empty()),
        Request::get("/records")
            .header("authorization", "Bearer mon_x")
            .body(Body::empty()),
        Request::get("/records")
            .header("authorization", format!("Bearer {}", world.key()))
            .header("authorization", "Bearer mon_x")
            .body(Body::empty()),
    ] {
        let answer = world.send(request.unwrap()).await;
        answer.assert_envelope(401);
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
}

#[tokio::test]
async fn a_gateway_learns_the_application_of_a_key_whether_the_call_names_it_or_not() {
    // CONTRACT 44: whose share a call counts on follows from it.
    let world = World::new().await;
    let own = world.first.application_id;
    let bound = Secret::new(world.token(&[Scope::Ingest], true).await);
    let free = Secret::new(world.token(&[Scope::Ingest], false).await);
    let ingest = &world.services.ingest;
    let (named, other) = (own.to_string(), ApplicationId::random().to_string());
    for named in [None, Some(named.as_str())] {
        assert_eq!(ingest.recognize(&bound, named).await.unwrap(), Some(own));
        assert_eq!(ingest.recognize(&free, named).await.unwrap(), None);
    }
    assert!(ingest.recognize(&bound, Some(&other)).await.is_err());
}

#[tokio::test]
async fn a_scope_or_an_application_that_is_not_the_tokens_gives_403() {
    // CONTRACT 27.
    let world = World::new().await;
    let reader = world.token(&[Scope::Read], false).await;
    world
        .post("/process_request/", &reader, "{}")
        .await
        .assert_envelope(403);
    let writer = world.token(&[Scope::Ingest], false).await;
    world.get("/records", &writer).await.assert_envelope(403);
    let bound = world.token(&Scope::ALL, true).await;
    let foreign = "00000000-0000-4000-8000-000000000000";
    let body = json!({"application_id": foreign, "message": "x"}).to_string();
    world
        .post("/process_request/", &bound, body)
        .await
        .assert_envelope(403);
    world
        .get(&format!("/records?application_id={foreign}"), &bound)
        .await
        .assert_envelope(403);
    let absent = world
        .post("/process_request/", &bound, r#"{"message":"x"}"#)
        .await;
    assert_eq!(absent.status, 200);
    let list = world.get("/records", &bound).await.body;
    assert_eq!(
        list["records"][0]["application_id"],
        json!(world.application())
    );
}

#[tokio::test]
async fn a_body_that_is_not_json_too_large_or_of_another_type_is_refused() {
    // CONTRACT 27.
    let world = World::new().await;
    for body in ["", "{", "not json", r#"{"message":"x"} x"#, "[1,"] {
        world
            .post("/process_request/", world.key(), body)
            .await
            .assert_envelope(400);
    }
    world
        .post(
            "/process_request/",
            world.key(),
            &b"{\"message\":\"\xff\"}"[..],
        )
        .await
        .assert_envelope(400);
    let large = "x".repeat(MAX_BODY as usize + 1);
    // Without a length that could be read beforehand.
    let unannounced = Body::new(Full::from(large.clone()).map_frame(|frame| frame));
    for body in [Body::from(large), unannounced] {
        let answer = world.post("/process_request/", world.key(), body).await;
        answer.assert_envelope(413);
    }
    // An escape of a control character counts as the one byte that it stands for.
    for (count, status) in [(MAX_BODY / 2, 200), (MAX_BODY, 413)] {
        let message = "\u{1}".repeat(count as usize);
        let body = json!({"application_id": world.application(), "message": message}).to_string();
        let unannounced = Body::new(Full::from(body.clone()).map_frame(|frame| frame));
        for body in [Body::from(body), unannounced] {
            let answer = world.post("/process_request/", world.key(), body).await;
            assert_eq!(answer.status, status, "{count}");
        }
    }
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/json; charset=utf-7"),
        Some("application/json;charset=\"UTF-16\""),
    ] {
        let mut request = Request::post("/process_request/")
            .header("authorization", format!("Bearer {}", world.key()));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        world
            .send(request.body(Body::from("{}")).unwrap())
            .await
            .assert_envelope(415);
    }
}

#[tokio::test]
async fn a_wrong_shape_gives_422_and_names_the_field() {
    // CONTRACT 27.
    let world = World::new().await;
    let id = world.application();
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (field, body) in [
        ("body", "[1,2,3]".to_owned()),
        ("body", r#"{"message":"a","message":"b"}"#.to_owned()),
        ("message", json!({"application_id": id}).to_string()),
        ("message", json!({"application_id": id, "message": 1}).to_string()),
        ("application_id", json!({"message": "x"}).to_string()),
        ("application_id", json!({"application_id": 7, "message": "x"}).to_string()),
        ("application_id", json!({"application_id": "x", "message": "x"}).to_string()),
        ("application_id", json!({"application_id": unknown, "message": "x"}).to_string()),
        ("additional_parameters", json!({"application_id": id, "message": "x", "additional_parameters": []}).to_string()),
        ("additional_parameters.user_id", json!({"application_id": id, "message": "x", "additional_parameters": {"user_id": 1}}).to_string()),
        ("additional_parameters.session_id", json!({"application_id": id, "message": "x", "additional_parameters": {"session_id": {}}}).to_string()),
    ] {
        world.post("/process_request/", world.key(), body).await.assert_field(field);
    }
    for (field, query) in [
        ("limit", "limit=0"),
        ("limit", "limit=201"),
        ("before", "before=x"),
        ("stage", "stage=x"),
        ("application_id", "application_id=x"),
        ("query", "user=1"),
    ] {
        world
            .get(&format!("/records?{query}"), world.key())
            .await
            .assert_field(field);
    }
    assert_eq!(
        world.get("/records", world.key()).await.body["records"],
        json!([])
    );
}

#[tokio::test]
async fn another_method_gives_405_with_allow_and_a_missing_record_404() {
    // CONTRACT 27.
    let world = World::new().await;
    let answer = world.get("/process_request/", world.key()).await;
    answer.assert_envelope(405);
    assert_eq!(answer.headers["allow"], "POST");
    for path in [
        "/records/x",
        "/records/00000000-0000-4000-8000-000000000000",
    ] {
        world.get(path, world.key()).await.assert_envelope(404);
    }
}

#[tokio::test]
async fn a_store_that_is_down_gives_503_with_retry_after() {
    // CONTRACT 27.
    let world = World::new().await;
    assert_eq!(world.analyze("x").await.status, 200);
    world.services.shutdown().await;
    let answer = world.analyze("x").await;
    answer.assert_envelope(503);
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn a_request_that_is_wrong_in_two_ways_is_refused_for_the_first() {
    let world = World::new().await;
    let foreign = "00000000-0000-4000-8000-000000000000";
    let admin = world.token(&[Scope::Admin], false).await;
    let bound = world.token(&Scope::ALL, true).await;
    for (path, key, status) in [
        // The query before the id in the path.
        ("/applications/x/versions?limit=0", world.key(), 422),
        ("/applications/x/versions", world.key(), 404),
        ("/applications/x/versions?limit=0", "mon_x", 401),
        // The second scope before the query.
        ("/audit?limit=0", &admin, 403),
        ("/audit?limit=0", world.key(), 422),
    ] {
        let answer = world.get(path, key).await;
        assert_eq!(answer.status, status, "{path}");
        answer.assert_envelope(status);
    }
    let other = format!("/applications/{foreign}/replay?limit=0");
    let own = format!("/applications/{}/replay?limit=0", world.application());
    for (path, key, status) in [
        // The second scope, the path, the application, the query, the body.
        ("/applications/x/replay?limit=0", &admin, 403),
        ("/applications/x/replay?limit=0", &bound, 404),
        (&other, &bound, 403),
        (&own, &bound, 422),
    ] {
        let answer = world.post(path, key, "{").await;
        assert_eq!(answer.status, status, "{path}");
        answer.assert_envelope(status);
    }
}

//! Files, and the erasure of a user, with two servers that share one database and one bucket.

use serde_json::{Value, json};
use support::KEY;
use support::bucket::Bucket;
use support::http::Response;
use support::postgres::{Database, Postgres};
use support::request::Request;
use support::stack::Stack;

fn server(database: &Database, bucket: &Bucket) -> Stack {
    let stack = Stack::all().yaml("  blobs: s3://files\n");
    let variables = bucket.env().into_iter().chain(database.owner_env());
    let stack = variables.fold(stack, |stack, (name, value)| stack.env(name, value));
    stack.start()
}

fn authorised(request: Request) -> Request {
    request
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
}

fn analyse(stack: &Stack, user: &str) -> Value {
    let body = json!({
        "application_id": stack.application_id(),
        "message": "hello",
        "additional_parameters": {"user_id": user},
    });
    let request = Request::post("/process_request/", body.to_string());
    let response = authorised(request).call(stack.analysis_addr);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

fn attach(stack: &Stack, id: &str, bytes: &str) -> Value {
    let body = format!(
        "--xyz\r\nContent-Disposition: form-data; name=\"attached_files\"; filename=\"a\"\r\n\
         Content-Type: text/plain\r\n\r\n{bytes}\r\n--xyz--\r\n"
    );
    let path = format!("/user_prompt_analysis/{id}/attach_files/");
    let request = Request::post(&path, body).content_type("multipart/form-data; boundary=xyz");
    let response = authorised(request).call(stack.analysis_addr);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()[0].clone()
}

fn erase(stack: &Stack, query: &str) -> Response {
    let request = Request::new("DELETE", &format!("/records?{query}"));
    authorised(request).call(stack.analysis_addr)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_one_server_erases_the_other_does_not_have_and_does_not_take() {
    let postgres = Postgres::shared();
    let (database, bucket) = (postgres.database(), Bucket::start());
    let (one, other) = (server(&database, &bucket), server(&database, &bucket));
    database.execute("UPDATE applications SET rules = '{\"keep_original\": true}'");
    let keeps = |stack: &Stack| {
        let id = analyse(stack, "probe")["request_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let file = attach(stack, &id, "probe");
        let path = format!(
            "/records/{id}/attachments/{}",
            file["sha256"].as_str().unwrap()
        );
        (stack.analysis(&path, KEY).status() == 200).then_some(())
    };
    support::eventually("both servers know the rules", || {
        keeps(&one).and(keeps(&other))
    });
    let mut paths = Vec::new();
    for stack in [&one, &other] {
        let id = analyse(stack, "anna")["request_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let hash = attach(stack, &id, "of anna")["sha256"].clone();
        paths.push(format!(
            "/records/{id}/attachments/{}",
            hash.as_str().unwrap()
        ));
    }
    for path in &paths {
        assert_eq!(one.analysis(path, KEY).text(), "of anna");
        assert_eq!(other.analysis(path, KEY).text(), "of anna");
    }
    assert_eq!(bucket.objects().len(), 2);
    let receipt = erase(&other, "user_id=anna").json();
    assert_eq!(
        (&receipt["records"], &receipt["attachments"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(bucket.objects().len(), 1, "the probe's");
    for path in &paths {
        assert_eq!(one.analysis(path, KEY).status(), 404);
    }
    let late = analyse(&one, "anna");
    assert_eq!(late["warnings"][0]["code"], "user_erased");
    let left = one.analysis("/records?user_id=anna", KEY).json();
    assert_eq!(left["records"], json!([]));
    let again = erase(&one, "user_id=anna").json();
    assert_eq!(again["tombstone_id"], receipt["tombstone_id"]);
}

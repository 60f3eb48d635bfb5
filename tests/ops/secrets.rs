//! A full run with distinctive secrets, and a look for every one of them in every output: standard
//! output and error at the level that says most, access log, metrics, `/status`, traces, what the service manager is
//! told, and the bodies of refusals; and for the keys of model servers in all that is kept. §2.1, CONTRACT 8, 30, 33,
//! 46; the invariant of `lib.rs`.

use crate::secrets_agents;
use crate::secrets_world::{World, judge, model};
use serde_json::{Value, json as object};
use support::bucket::Bucket;
use support::eventually;
use support::http::Response;
use support::line::{Line, order};
use support::postgres::Postgres;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{Upstream, response};

#[test]
fn no_secret_of_a_full_run_shows_in_any_output() {
    let mut world = World::new();
    let (upstream, judge, bucket) = (model(&world.secrets), judge(), Bucket::start());
    let judge_key = world.secrets.make("judge key");
    let stack = all_in_one(&world, &upstream, &judge.url(), &bucket, &judge_key);
    let application = stack.application_id();
    calls(&world, &stack, &application);
    administration(&mut world, &stack, &application);
    people(&world, &stack);
    let mut line = Line::default();
    reloads(&mut world, &stack);
    line.upgrade(&stack, "all");
    let call = world.chat("after the upgrade", &world.key);
    assert_eq!(world.secrets.call(&call, stack.gateway_addr).status(), 200);
    eventually("spans arrive", || {
        (world.collector.seen().requests.len() > 3).then_some(())
    });
    assert!(world.secrets.count() > 60, "{}", world.secrets.count());
    world.assert_silent(&stack);
    world.assert_keys_not_kept(&stack, &[]);
}

fn all_in_one(
    world: &World,
    upstream: &Upstream,
    judge: &str,
    bucket: &Bucket,
    judge_key: &str,
) -> Stack {
    let key = &world.key;
    let stack = Stack::all_with_printed_key().yaml(&format!(
        "analysis:\n  first_token: {key}\n  blobs: s3://files/of/monitor\n  \
         judge: {{url: \"{judge}\", model: j, api_key: {judge_key}, timeout: 500ms}}"
    ));
    let stack = bucket
        .env()
        .into_iter()
        .fold(stack, |stack, (name, value)| {
            // The store takes any signature, so the secret can be one.
            let value = match name {
                "AWS_SECRET_ACCESS_KEY" => world.secrets.make("bucket"),
                _ => value,
            };
            stack.env(name, value)
        });
    world.with_outputs(stack.upstream(upstream)).start()
}

/// Calls that go well, and calls that go wrong in every way there is.
fn calls(world: &World, stack: &Stack, application: &str) {
    let policy = object!({"version": 1, "rules": {
        "policy": {"app_mode": "sync", "phrase": "no", "block_on": {"guardrails": true, "custom_policy": true, "dataclean": true}},
        "keep_original": true,
        "request": {"custom_policies": [{"name": "p", "description": world.secrets.make("custom policy")}]},
    }});
    let modes = [false, true];
    for is_sync in modes {
        if is_sync {
            let path = format!("/applications/{application}/rules");
            world.api(stack, &world.key, ("PATCH", &path), policy.clone());
        }
        for words in [
            "hello",
            "stream it",
            "fail",
            "nonsense",
            "judge fails",
            "judge raves",
        ] {
            world
                .secrets
                .call(&world.chat(words, &world.key), stack.gateway_addr);
        }
        let wrong = world.secrets.make("wrong key");
        world
            .secrets
            .call(&world.chat("hello", &wrong), stack.gateway_addr);
        let twice = world
            .chat("hello", &wrong)
            .header("X-Monitor-Api-Key", &world.key);
        world.secrets.call(&twice, stack.gateway_addr);
        let query = world.secrets.make("query");
        for path in [
            format!("/v1/models?key={query}"),
            format!("/v1/{query}?a={query}"),
        ] {
            let request = Request::get(&path)
                .without_key()
                .header("X-Monitor-Api-Key", &world.key);
            world.secrets.call(&request, stack.gateway_addr);
        }
        let broken = world.secrets.make("broken body");
        let body = format!("{{\"messages\":[{{\"content\":\"{broken}");
        let request = Request::chat(body)
            .without_key()
            .header("X-Monitor-Api-Key", &world.key);
        assert_eq!(
            world.secrets.call(&request, stack.gateway_addr).status(),
            400
        );
        files(world, stack);
        secrets_agents::calls(world, stack, None);
    }
}

/// Attached files: one that is there, and some that cannot be had.
fn files(world: &World, stack: &Stack) {
    let text = world.secrets.make("file");
    let list = object!([
        {"name": "a.txt", "url": format!("data:text/plain,{text}")},
        {"name": "b", "url": format!("http://user:{}@127.0.0.1/x?sig={}", world.secrets.make("url password"), world.secrets.make("signature"))},
        {"name": "c", "content": world.secrets.make("not base64")},
    ]);
    let call = world
        .chat("with files", &world.key)
        .header("X-Attached-Files", &list.to_string());
    world.secrets.call(&call, stack.gateway_addr);
}

/// Tokens, applications and records through the API and the command line.
fn administration(world: &mut World, stack: &Stack, application: &str) {
    let key = world.key.clone();
    let token = object!({"name": "t", "scopes": ["ingest", "read"]});
    let made = world.api(stack, &key, ("POST", "/tokens"), token).json();
    let (id, value) = (
        made["id"].as_str().unwrap().to_owned(),
        made["value"].as_str().unwrap().to_owned(),
    );
    let message =
        world.secrets.make("message") + " and " + &world.secrets.make("mail") + "@example.org";
    for key in [&key, &value, &world.secrets.make("unknown token")] {
        let body = object!({"application_id": application, "message": message, "additional_parameters": {}});
        world.api(stack, key, ("POST", "/process_request/"), body);
        let body = object!({"application_id": world.secrets.make("no uuid"), "message": message});
        world.api(stack, key, ("POST", "/process_request/"), body);
        world.api(
            stack,
            key,
            ("POST", "/process_response/"),
            object!({"message": 5, "token": message}),
        );
        world.api(stack, key, ("GET", "/records?user_id=nobody"), Value::Null);
    }
    let regex = object!({"version": 1, "rules": {"request": {"custom_regexes": [{"name": "x", "pattern": format!("({}", world.secrets.make("regex"))}]}}});
    world.api(
        stack,
        &key,
        ("PATCH", &format!("/applications/{application}/rules")),
        regex,
    );
    world.api(
        stack,
        &key,
        ("POST", &format!("/tokens/{id}/rotate")),
        object!({}),
    );
    world.api(
        stack,
        &key,
        ("DELETE", &format!("/tokens/{id}")),
        Value::Null,
    );
    // What a command prints on purpose is a secret from then on.
    let printed = world.run(stack, &["token", "create", "--name", "cli"], "");
    world.secrets.learn(printed.trim(), "monitor token create");
    world.show(stack, &["token", "list"], "");
    let scanned = world.secrets.make("scanned") + "@example.org";
    world.show(stack, &["scan", "--mask", "-"], &scanned);
    world.secrets.learn(&scanned, "a scanned text");
}

/// Signing in to the web UI, rightly and wrongly.
fn people(world: &World, stack: &Stack) {
    let link = regex::Regex::new(r"http://[^ ]+(/ui/link/[A-Za-z0-9_-]+)").unwrap();
    let link = link.captures(&stack.process.stdout()).expect("the link")[1].to_owned();
    let password = world.secrets.make("password of a person");
    let mut cookies = String::new();
    let mut send = |method: &str, path: &str, fields: &[(&str, &str)]| {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let request = match method {
            "GET" => Request::get(path),
            _ => {
                Request::post(path, body.finish()).content_type("application/x-www-form-urlencoded")
            }
        };
        let answer = world.secrets.call(
            &request.without_key().header("Cookie", &cookies),
            stack.analysis_addr,
        );
        for cookie in answer.head.values("set-cookie") {
            cookies = cookie.split(';').next().unwrap_or_default().to_owned();
        }
        answer
    };
    let form = regex::Regex::new(r#"name="form_token" value="([^"]*)""#).unwrap();
    let token = |page: &Response| form.captures(&page.text()).expect("a form")[1].to_owned();
    let page = send("GET", &link, &[]);
    let fields = [
        ("form_token", &*token(&page)),
        ("password", &*password),
        ("again", &*password),
    ];
    assert_eq!(send("POST", &link, &fields).status(), 303);
    assert_eq!(send("GET", "/ui/records", &[]).status(), 200);
    let page = send("GET", "/ui/sign-in", &[]);
    let wrong = world.secrets.make("wrong password");
    let name = world.secrets.make("name typed for a password");
    if let Some(token) = form.captures(&page.text()) {
        let fields = [
            ("form_token", &token[1]),
            ("name", &*name),
            ("password", &*wrong),
        ];
        send("POST", "/ui/sign-in", &fields);
    }
}

/// Configurations that are wrong in the place of a secret, and a right one.
fn reloads(world: &mut World, stack: &Stack) {
    let good = std::fs::read_to_string(stack.configuration()).unwrap();
    world.secrets.of_settings(&good);
    let secret = world.secrets.make("settings");
    for wrong in [
        format!("upstream: {{url: \"http://user:{secret}@model.example\"}}\n"),
        format!("store: {{host: \"postgres://user:{secret}@db\", db: d, user: u}}\n"),
        format!("store: {{host: db, db: d, user: u, pasword: {secret}}}\n"),
        format!("analysis: {{first_token: \"{secret} with a space\"}}\n"),
        format!("analysis: {{judge: {{api_key: {secret}}}}}\n"),
        format!("analysis: {{judge: {{api_key: [{secret}]}}}}\n"),
        format!("trace: {{endpoint: \"http://{secret}@c\"}}\n"),
        format!("trace: {{authorization: \"{secret}\\n\"}}\n"),
        format!("store:\n  password: \"{secret}\n"),
        format!("monitor: {{application_id: {secret}}}\n"),
    ] {
        std::fs::write(stack.configuration(), &wrong).unwrap();
        let out = order(stack, "reload", "all");
        assert!(
            !out.status.success(),
            "{}",
            wrong.replace(&secret, "<SECRET>")
        );
        world.printed += &String::from_utf8_lossy(&out.stderr);
        let path = stack.configuration().display().to_string();
        world.show(stack, &["check", "--role", "all", "--config", &path], "");
    }
    std::fs::write(stack.configuration(), &good).unwrap();
    let path = stack.configuration().display().to_string();
    world.show(stack, &["check", "--role", "all", "--config", &path], "");
    assert!(order(stack, "reload", "all").status.success());
}

#[test]
fn no_secret_shows_where_the_backend_fails_or_refuses() {
    let mut world = World::new();
    let upstream = model(&world.secrets);
    // One that quotes what it was sent, which nobody may repeat.
    let backend = Upstream::answering(|request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        match text {
            _ if text.contains("refused") => response(422, "", &request.body),
            _ if text.contains("key") => response(401, "", &request.body),
            _ => response(500, "", &request.body),
        }
    });
    let phrase =
        "applications:\n- {id: 57100000-0000-4000-8000-000000000009, app_mode: sync, phrase: no}";
    let stack = Stack::gateway().upstream(&upstream).yaml(phrase);
    let stack = stack.env("MONITOR_URL", backend.url());
    let stack = world.with_outputs(stack).start();
    for words in ["refused", "key", "broken", "stream", "fail", "nonsense"] {
        for application in ["57100000-0000-4000-8000-000000000009", "none"] {
            let call = world
                .chat(words, &world.key)
                .header("X-Application-Id", application);
            world.secrets.call(&call, stack.gateway_addr);
        }
    }
    for application in ["57100000-0000-4000-8000-000000000009", "none"] {
        secrets_agents::calls(&world, &stack, Some(application));
    }
    eventually("a dead letter", || {
        (stack.metric("monitor_spool_dead_letters") > 0.0).then_some(())
    });
    for command in ["status", "dead"] {
        world.show(&stack, &["spool", command, "--role", "gateway"], "");
    }
    eventually("spans arrive", || {
        (!world.collector.seen().requests.is_empty()).then_some(())
    });
    world.assert_silent(&stack);
    let sent = backend.seen().requests;
    assert!(!sent.is_empty());
    world.assert_keys_not_kept(&stack, &sent);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_databases_password_shows_nowhere_whether_it_is_right_or_wrong() {
    let server = Postgres::shared();
    let database = server.empty_database();
    let world = World::new();
    let port = database.port;
    let (key, name) = (&world.key, &database.name);
    let yaml = |password: &str| {
        format!(
            "first_token: {key}\nstore: {{host: 127.0.0.1, port: {port}, db: {name}, user: admin, password: {password}, ssl: false}}\nlog: {{level: debug}}"
        )
    };
    let right = support::postgres::PASSWORD;
    world.secrets.learn(right, "the database");
    let wrong = world.secrets.make("wrong database password");
    let (status, stderr) = Stack::analysis_bare().yaml(&yaml(&wrong)).refused();
    assert!(!status.success());
    let stack = Stack::analysis_bare()
        .yaml(&yaml(right))
        .folder(&world.folder)
        .start();
    let bearer = format!("Bearer {}", world.key);
    let request = Request::get("/records")
        .without_key()
        .header("Authorization", &bearer);
    assert_eq!(
        world.secrets.call(&request, stack.analysis_addr).status(),
        200
    );
    drop(server);
    world.secrets.call(&request, stack.analysis_addr);
    world
        .secrets
        .assert_absent(&[("standard error of the refused one", stderr)]);
    std::fs::write(world.log(), "none").unwrap();
    world.assert_silent(&stack);
}

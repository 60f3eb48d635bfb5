//! Three analysis servers and two gateways over one PostgreSQL, of which one each is killed: no process
//! has state of its own that anybody would miss (CONTRACT 11, 16, 23, 30, 38).

use super::world::{Line, Load, authorised, export, over};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::postgres::{Database, Postgres};
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, eventually};

const CLIENTS: usize = 6;

struct Fleet {
    servers: Vec<Stack>,
    gateways: Vec<Stack>,
    application: String,
    _upstream: Upstream,
}

impl Fleet {
    /// Gateway n registers at server n and reads policies in the database.
    fn start(database: &Database) -> Self {
        let upstream = Upstream::ok();
        let server = || over(database, Stack::analysis_server()).start();
        let servers = vec![server(), server(), server()];
        let gateway = |server: &Stack| {
            let builder = Stack::gateway()
                .upstream(&upstream)
                .env("MONITOR_URL", format!("http://{}", server.analysis_addr));
            let variables = database.env().into_iter();
            variables
                .fold(builder, |builder, (name, value)| builder.env(name, value))
                .start()
        };
        Self {
            gateways: servers[..2].iter().map(gateway).collect(),
            application: servers[0].application_id(),
            servers,
            _upstream: upstream,
        }
    }

    /// Asks one server, which has to answer with this status.
    #[track_caller]
    fn at(&self, server: usize, (method, path): (&str, &str), body: Value) -> Value {
        let request = match body {
            Value::Null => Request::new(method, path),
            body => Request::json(method, path, body.to_string()),
        };
        let response = authorised(request).call(self.servers[server].analysis_addr);
        let is_good = (200..300).contains(&response.status());
        assert!(is_good, "{method} {path}: {}", response.text());
        response.json()
    }

    /// What a message becomes at a server.
    fn cleaned(&self, server: usize) -> Value {
        let body = json!({"application_id": self.application, "message": "to a@example.org"});
        let answer = self.at(server, ("POST", "/process_response/"), body);
        answer["dataclean"]["cleaned_text"].clone()
    }

    /// Changes the rules at one server and waits until all of `others` judge by them.
    fn change_rules(&self, server: usize, others: &[usize], rules: Value, cleaned: &str) {
        let path = format!("/applications/{}/rules", self.application);
        let version = self.at(server, ("GET", &path), Value::Null)["version"].clone();
        let body = json!({"version": version, "rules": rules});
        self.at(server, ("PUT", &path), body);
        for other in others {
            eventually("the rules hold at another server", || {
                (self.cleaned(*other) == cleaned).then_some(())
            });
        }
    }

    /// Whether a server takes a record from this key.
    fn takes(&self, server: usize, key: &str) -> u16 {
        let body = json!({"application_id": self.application, "message": "x"}).to_string();
        Request::post("/process_response/", body)
            .without_key()
            .header("Authorization", &format!("Bearer {key}"))
            .call(self.servers[server].analysis_addr)
            .status()
    }

    /// A chat completion of an application at a gateway.
    fn chat(&self, gateway: usize, application: &str) -> (u16, String) {
        let request = Request::chat(HELLO).header("X-Application-Id", application);
        let response = self.gateways[gateway].call(&request);
        (response.status(), response.text())
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_16_30_38_a_change_at_one_server_holds_at_all_of_them_and_at_every_gateway() {
    let server = Postgres::shared();
    let fleet = Fleet::start(&server.database());
    assert!((1..3).all(|n| fleet.cleaned(n) == "to [EMAILS]"));
    let deletes = json!({"post": {"dataclean": {"clean_type": "DELETION"}}});
    fleet.change_rules(0, &[1, 2], deletes, "to");
    let masks = json!({"post": {"dataclean": {"mask_style": "x"}}});
    fleet.change_rules(2, &[0, 1], masks, "to xxxxxxxxxxxxx");
    let token = json!({"name": "t", "scopes": ["ingest"]});
    let made = fleet.at(1, ("POST", "/tokens"), token);
    let (id, value) = (
        made["id"].as_str().unwrap(),
        made["value"].as_str().unwrap(),
    );
    for other in 0..3 {
        eventually("the token is known everywhere", || {
            (fleet.takes(other, value) == 200).then_some(())
        });
    }
    fleet.at(2, ("DELETE", &format!("/tokens/{id}")), Value::Null);
    for other in 0..3 {
        eventually("the revocation holds everywhere", || {
            (fleet.takes(other, value) == 401).then_some(())
        });
    }
    let other = fleet.at(0, ("POST", "/applications"), json!({"name": "strict"}));
    let (application, version) = (other["id"].as_str().unwrap(), &other["version"]);
    let rules = json!({"pre": {"dataclean": {"patterns": [{"name": "HI", "regex": "hello"}]}}});
    let path = format!("/applications/{application}/rules");
    let changed = fleet.at(
        0,
        ("PUT", &path),
        json!({"version": version, "rules": rules}),
    );
    let policy = json!({"app_mode": "sync", "phrase": "No greetings."});
    let body = json!({"version": changed["version"], "policy": policy});
    let path = format!("/applications/{application}/policy");
    fleet.at(1, ("PUT", &path), body);
    for gateway in 0..2 {
        eventually("the policy is in force at a gateway", || {
            let (_, text) = fleet.chat(gateway, application);
            text.contains("No greetings.").then_some(())
        });
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_23_an_exchange_posted_to_every_server_at_once_is_one_record_with_one_answer() {
    let server = Postgres::shared();
    let fleet = Fleet::start(&server.database());
    for number in 0..20 {
        let body = json!({
            "application_id": fleet.application, "message": "once",
            "additional_parameters": {"request_id": format!("x{number}")},
        });
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let ask = |n| {
                let (fleet, body) = (&fleet, body.clone());
                scope.spawn(move || fleet.at(n, ("POST", "/process_request/"), body))
            };
            let asked: Vec<_> = (0..3).map(ask).collect();
            let answered = asked.into_iter().map(|one| one.join().unwrap());
            answered
                .map(|answer| answer["request_id"].clone())
                .collect()
        });
        assert!(answers.iter().all(|id| id == &answers[0]), "{answers:?}");
    }
    assert_eq!(export(&fleet.servers[2]).len(), 20);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_11_23_a_server_and_a_gateway_killed_under_load_cost_no_record_and_no_answer() {
    let server = Postgres::shared();
    let mut fleet = Fleet::start(&server.database());
    let addresses = |servers: &[Stack]| servers.iter().map(|one| one.analysis_addr).collect();
    let load = Load::new(fleet.application.clone(), addresses(&fleet.servers));
    let calm = fleet.chat(0, &fleet.application);
    assert_eq!(calm.0, 200);
    let request = Request::chat(HELLO).header("X-Application-Id", &fleet.application);
    let surviving = fleet.gateways[0].gateway_addr;
    let (ended, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let load = &load;
            scope.spawn(move || load.client(&format!("client{number}")));
        }
        // The server that the surviving gateway registers at is the one that goes.
        scope.spawn(|| {
            let mut line = Line::default();
            while !ended.load(Ordering::SeqCst) {
                let (status, body) = line.call(surviving, &request).expect("an answer");
                assert_eq!((status, body.as_slice()), (200, calm.1.as_bytes()));
                answered.fetch_add(1, Ordering::SeqCst);
            }
        });
        load.await_more(150);
        fleet.servers[0].process.signal("KILL");
        fleet.servers[0].process.await_exit();
        fleet.gateways[1].process.signal("KILL");
        fleet.gateways[1].process.await_exit();
        let at_the_kill = answered.load(Ordering::SeqCst);
        load.await_more(150);
        eventually("the surviving gateway answers as before", || {
            (answered.load(Ordering::SeqCst) > at_the_kill + 20).then_some(())
        });
        ended.store(true, Ordering::SeqCst);
        load.end();
    });
    assert!(load.unanswered() > 0, "no kill met a call");
    after_the_kill(&fleet);
    assert_delivered_are_kept(&fleet);
    println!(
        "{} records acknowledged",
        load.assert_kept(&fleet.servers[1])
    );
}

/// What the killed server acknowledged to the surviving gateway is there too.
fn assert_delivered_are_kept(fleet: &Fleet) {
    let series = r#"monitor_telemetry_records_total{outcome="delivered",stage="user_prompt"}"#;
    let delivered = fleet.gateways[0].metric(series) as usize;
    assert!(delivered > 0);
    let of_gateways = |record: &&Value| {
        let exchange = record["exchange_id"].as_str().unwrap();
        !exchange.starts_with("client")
    };
    let kept = export(&fleet.servers[1]).iter().filter(of_gateways).count();
    assert!(kept >= delivered, "{kept} of {delivered}");
}

/// Changes still hold at all who are left, also at a gateway whose server is gone.
fn after_the_kill(fleet: &Fleet) {
    let deletes = json!({"post": {"dataclean": {"clean_type": "DELETION"}}});
    fleet.change_rules(1, &[2], deletes, "to");
    let path = format!("/applications/{}/policy", fleet.application);
    let version = fleet.at(2, ("GET", &path), Value::Null)["version"].clone();
    let policy = json!({"app_mode": "sync", "phrase": "No.", "on_backend_failure": "closed"});
    fleet.at(
        2,
        ("PUT", &path),
        json!({"version": version, "policy": policy}),
    );
    eventually("the policy is in force at the surviving gateway", || {
        (fleet.chat(0, &fleet.application).0 == 502).then_some(())
    });
    let listed = fleet.servers[2].analysis("/records?limit=1", KEY);
    assert_eq!(listed.status(), 200);
}

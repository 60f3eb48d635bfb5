//! Texts that somebody posts under the id of a gateway's exchange, through the binaries (CONTRACT 5, 23): the gateway's
//! own record is stored whichever came first, its number is its own, and what came second shows.

use super::chain::{calls, registering, settled};
use super::world::{authorised, over};
use monitor_model::{Chain, ChainHash, Identity, Stage};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use support::postgres::Postgres;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{Upstream, json as upstream_json};
use support::{KEY, eventually};
use uuid::Uuid;

const CARD: &str = "the card is 4111 1111 1111 1111";
const ANSWER: &str =
    r#"{"choices":[{"index":0,"message":{"content":"the card is 4111 1111 1111 1111"}}]}"#;
const HARMLESS: &str = "a harmless answer";
/// What the record that came second says.
const MARK: &str = "stands for another text";

fn records(address: SocketAddr) -> Vec<Value> {
    let answer = authorised(Request::get("/records?limit=100")).call(address);
    let Value::Array(records) = answer.json()["records"].take() else {
        panic!("{}", answer.text());
    };
    records
}

fn whole(server: &Stack, record: &Value) -> Value {
    let path = format!("/records/{}", record["request_id"].as_str().unwrap());
    server.analysis(&path, KEY).json()
}

#[track_caller]
fn post(address: SocketAddr, stage: Stage, body: &Value) -> Value {
    let path = match stage {
        Stage::PreCall => "/process_request/",
        Stage::PostCall => "/process_response/",
    };
    let answer = authorised(Request::post(path, body.to_string())).call(address);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

fn warning(verdict: &Value) -> &str {
    verdict["warnings"][0]["message"].as_str().unwrap_or("")
}

fn counted(server: &Stack, outcome: &str) -> f64 {
    server.metric(&format!(
        r#"monitor_reused_ids_total{{outcome="{outcome}"}}"#
    ))
}

/// Answers with a card number, after a harmless text was posted under the id of the call's exchange.
fn forged_meanwhile(server: &Arc<OnceLock<(SocketAddr, String)>>) -> Upstream {
    let server = Arc::clone(server);
    Upstream::answering(move |_| {
        let (address, application) = server.get().unwrap();
        let exchange = eventually("the prompt is stored", || {
            let newest = records(*address).into_iter().next()?;
            (newest["stage"] == "pre").then(|| newest["exchange_id"].clone())
        });
        let forged = json!({"application_id": application, "message": HARMLESS,
            "additional_parameters": {"request_id": exchange}});
        post(*address, Stage::PostCall, &forged);
        upstream_json(200, ANSWER)
    })
}

/// One call whose answer was forged before it came: prompt, forged text and answer are there, and no number is missing.
#[track_caller]
fn all_are_there(server: &Stack) {
    let seen = settled(server, 2, 2);
    assert_eq!(
        (
            &seen["complete"],
            &seen["count"],
            &seen["stubs"],
            &seen["repeats"]
        ),
        (&json!(true), &json!(2), &json!(0), &json!(0)),
        "{seen}"
    );
    let listed = records(server.analysis_addr);
    assert_eq!(listed.len(), 3, "{listed:?}");
    let numbered = |record: &Value| record["additional_parameters"]["chain"].is_object();
    let answers: Vec<Value> = listed
        .iter()
        .filter(|record| record["stage"] == "post")
        .map(|record| whole(server, record))
        .collect();
    let [real] = &answers
        .iter()
        .filter(|one| numbered(one))
        .collect::<Vec<_>>()[..]
    else {
        panic!("{answers:?}");
    };
    let [forged] = &answers
        .iter()
        .filter(|one| !numbered(one))
        .collect::<Vec<_>>()[..]
    else {
        panic!("{answers:?}");
    };
    assert_eq!(real["flagged"]["dataclean"], true, "{real}");
    assert!(warning(&real["answer"]).contains(MARK), "{real}");
    let (own, other) = (&real["exchange_id"], &forged["exchange_id"]);
    assert!(own.as_str().unwrap().starts_with(other.as_str().unwrap()));
    assert_ne!(own, other);
    assert_eq!(real["additional_parameters"]["request_id"], *other);
    assert_eq!(forged["flagged"]["dataclean"], false, "{forged}");
    assert_eq!(forged["answer"]["warnings"], json!([]));
    assert_eq!(counted(server, "stored_apart"), 1.0);
}

#[test]
fn contract_5_a_text_that_is_posted_under_a_calls_id_takes_the_place_of_none() {
    forge_at(&Stack::analysis_server().start());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_5_on_postgres_a_text_that_is_posted_under_a_calls_id_takes_the_place_of_none() {
    let postgres = Postgres::shared();
    forge_at(&over(&postgres.database(), Stack::analysis_server()).start());
}

fn forge_at(server: &Stack) {
    let address = Arc::new(OnceLock::new());
    let upstream = forged_meanwhile(&address);
    address
        .set((server.analysis_addr, server.application_id()))
        .unwrap();
    let gateway = registering(server, &upstream).start();
    gateway.call(&Request::chat(HELLO));
    all_are_there(server);
}

#[test]
fn contract_5_monitor_all_stores_an_answer_that_was_forged_before_it_came() {
    let address = Arc::new(OnceLock::new());
    let upstream = forged_meanwhile(&address);
    let stack = Stack::all().upstream(&upstream).start();
    address
        .set((stack.analysis_addr, stack.application_id()))
        .unwrap();
    stack.call(&Request::chat(HELLO));
    all_are_there(&stack);
}

/// A gateway that numbers what it sends.
struct Numbering {
    gateway: Uuid,
    sequence: u64,
    previous: ChainHash,
}

impl Numbering {
    fn body(&mut self, stage: Stage, (application, exchange): (&str, &str), text: &str) -> Value {
        self.sequence += 1;
        let chain = Chain {
            gateway: self.gateway,
            sequence: self.sequence,
            previous: self.previous,
            after: None,
        };
        let identity = Identity {
            request_id: Some(exchange),
            stage,
            application_id: Some(application),
            user_id: None,
            session_id: None,
            message: text,
        };
        self.previous = chain.link(identity.digest());
        json!({"application_id": application, "message": text,
            "additional_parameters": {"request_id": exchange, "chain": chain}})
    }
}

#[test]
fn contract_5_whichever_text_of_an_exchange_comes_first_the_numbered_one_is_stored() {
    post_in_either_order(&Stack::analysis_server().start());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_5_on_postgres_whichever_text_comes_first_the_numbered_one_is_stored() {
    let postgres = Postgres::shared();
    post_in_either_order(&over(&postgres.database(), Stack::analysis_server()).start());
}

fn post_in_either_order(server: &Stack) {
    let application = server.application_id();
    let mut gateway = Numbering {
        gateway: Uuid::from_u128(77),
        sequence: 0,
        previous: ChainHash::default(),
    };
    let address = server.analysis_addr;
    let send = |stage, body: &Value| post(address, stage, body);
    let without_number = |exchange: &str, text: &str| {
        json!({"application_id": application, "message": text,
            "additional_parameters": {"request_id": exchange}})
    };
    for stage in [Stage::PreCall, Stage::PostCall] {
        // Whatever is found in either: a text that finds less is not the same text.
        let texts = [(CARD, HARMLESS), (HARMLESS, CARD), (HARMLESS, "another")];
        for (number, (mine, theirs)) in texts.into_iter().enumerate() {
            let apart = counted(server, "stored_apart");
            let exchange = format!("first {} {number}", stage.as_str());
            let forged = send(stage, &without_number(&exchange, theirs));
            let body = gateway.body(stage, (&application, &exchange), mine);
            let real = send(stage, &body);
            assert_ne!(real["request_id"], forged["request_id"]);
            assert_eq!(real["dataclean"]["flagged"], mine == CARD, "{real}");
            assert!(warning(&real).contains(MARK), "{real}");
            let again = send(stage, &body);
            assert_eq!(again["request_id"], real["request_id"], "sent again");
            assert_eq!(counted(server, "stored_apart") - apart, 1.0);

            let unstored = counted(server, "not_stored");
            let exchange = format!("last {} {number}", stage.as_str());
            let body = gateway.body(stage, (&application, &exchange), mine);
            let real = send(stage, &body);
            assert_eq!(real["warnings"], json!([]));
            let forged = send(stage, &without_number(&exchange, theirs));
            assert!(warning(&forged).contains(MARK), "{forged}");
            assert_eq!(forged["dataclean"]["flagged"], theirs == CARD);
            assert_eq!(send(stage, &body), real, "sent again");
            let same = send(stage, &without_number(&exchange, mine));
            assert_eq!(same, real, "the same text");
            assert_eq!(counted(server, "not_stored") - unstored, 1.0);
        }
    }
    let seen = settled(server, 12, 12);
    assert_eq!(
        (&seen["complete"], &seen["stubs"], &seen["repeats"]),
        (&json!(true), &json!(0), &json!(0)),
        "{seen}"
    );
    assert_eq!(records(address).len(), 18);
}

#[test]
fn contract_5_a_batch_stores_both_texts_of_an_exchange() {
    let server = Stack::analysis_server().start();
    let application = server.application_id();
    let mut gateway = Numbering {
        gateway: Uuid::from_u128(78),
        sequence: 0,
        previous: ChainHash::default(),
    };
    let mut lines = String::new();
    for number in 0..20 {
        let exchange = format!("b{number}");
        let forged = json!({"application_id": application, "message": HARMLESS,
            "additional_parameters": {"request_id": exchange}});
        let mine = gateway.body(Stage::PostCall, (&application, &exchange), CARD);
        for body in [&forged, &mine, &mine] {
            lines.push_str(&format!("{}\n", json!({"stage": "post", "body": body})));
        }
    }
    for _ in 0..2 {
        let request = Request::post("/process_batch/", &lines).content_type("application/x-ndjson");
        let answer = authorised(request).call(server.analysis_addr);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.text().matches(r#""status":200"#).count(), 60);
    }
    let seen = settled(&server, 20, 20);
    assert_eq!(
        (&seen["complete"], &seen["stubs"], &seen["repeats"]),
        (&json!(true), &json!(0), &json!(0)),
        "{seen}"
    );
    assert_eq!(records(server.analysis_addr).len(), 40);
}

#[test]
fn contract_5_an_ordinary_call_reuses_no_id() {
    let stack = Stack::all().start();
    calls(&stack, 4);
    settled(&stack, 8, 8);
    for outcome in ["stored_apart", "not_stored"] {
        assert_eq!(counted(&stack, outcome), 0.0, "{outcome}");
    }
}

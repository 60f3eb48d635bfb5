//! Events for other systems through the real binary: what a receiver of syslog and a collector of Splunk get, and that
//! nothing is lost while they are away, also over a restart (docs/siem.md).

use serde_json::{Value, json};
use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use support::api::{analyse, new_key};
use support::eventually;
use support::fault::free_port;
use support::server::{Received, Wrap};
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::upstream::{Upstream, clear, json as answer};

const TOKEN: &str = "0f0e-hec-token";

/// A receiver of syslog: what it was sent, each message as it was behind its length.
struct Receiver {
    address: SocketAddr,
    messages: Arc<Mutex<Vec<String>>>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    stops: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

impl Receiver {
    fn at(port: u16, wrap: Wrap) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut receiver = Self {
            address: listener.local_addr().unwrap(),
            messages: Arc::default(),
            sockets: Arc::default(),
            stops: Arc::default(),
            accepts: None,
        };
        let (messages, sockets) = (receiver.messages.clone(), receiver.sockets.clone());
        let stops = receiver.stops.clone();
        receiver.accepts = Some(std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if stops.load(Ordering::SeqCst) {
                    return;
                }
                sockets.lock().unwrap().push(socket.try_clone().unwrap());
                let Some(stream) = wrap(socket) else { continue };
                let messages = messages.clone();
                std::thread::spawn(move || read_frames(stream, &messages));
            }
        }));
        receiver
    }

    fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }

    /// The bodies of the messages of this kind.
    fn bodies(&self, kind: &str) -> Vec<Value> {
        let messages = self.messages();
        let parts = messages
            .iter()
            .map(|message| message.splitn(8, ' ').collect());
        let of_kind = parts.filter(|parts: &Vec<&str>| parts[5] == kind);
        of_kind
            .map(|parts| serde_json::from_str(parts[7]).expect("a JSON body"))
            .collect()
    }

    /// The records that it was told of.
    fn records(&self) -> Vec<Value> {
        let bodies = self.bodies("verdict").into_iter();
        bodies.map(|it| it["finding_info"]["uid"].clone()).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        // Its address is free after this.
        if let Some(accepts) = self.accepts.take() {
            accepts.join().unwrap();
        }
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn read_frames(mut stream: impl Read, messages: &Mutex<Vec<String>>) {
    loop {
        let mut length = 0;
        loop {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) if byte == *b" " => break,
                Ok(1) => length = length * 10 + usize::from(byte[0] - b'0'),
                _ => return,
            }
        }
        let mut message = vec![0; length];
        if stream.read_exact(&mut message).is_err() {
            return;
        }
        let message = String::from_utf8(message).expect("UTF-8");
        messages.lock().unwrap().push(message);
    }
}

/// Sends a message in which an address is found; gives its record.
#[track_caller]
fn flagged(stack: &Stack, user: &str) -> Value {
    let message = "hello zaphod@heart.example, hello";
    let analysed = analyse(stack, message, json!({"user_id": user}));
    assert_eq!(analysed["dataclean"]["flagged"], true, "{analysed}");
    analysed["request_id"].clone()
}

fn syslog(url: &str, more: &str) -> String {
    let destination = format!("{{name: soc, kind: syslog, url: \"{url}\"{more}}}");
    format!("  siem:\n    destinations:\n      - {destination}\n")
}

#[test]
fn syslog_gets_verdicts_and_the_audit_log_in_ocsf_and_nothing_of_the_message() {
    let receiver = Receiver::at(0, Box::new(clear));
    let yaml = syslog(&format!("tcp://{}", receiver.address), "");
    let stack = Stack::all()
        .yaml("  ui: {public_url: \"https://monitor.example\"}\n")
        .yaml(&yaml)
        .start();
    let record = flagged(&stack, "anna");
    analyse(&stack, "hello", json!({}));
    new_key(&stack, &json!({"name": "k", "scopes": ["ingest"]}));
    eventually("both are sent", || {
        (!receiver.bodies("verdict").is_empty() && !receiver.bodies("audit").is_empty())
            .then_some(())
    });
    let verdicts = receiver.bodies("verdict");
    let [verdict] = &verdicts[..] else {
        panic!("{verdicts:?}")
    };
    assert_eq!(verdict["class_uid"], 2004);
    assert_eq!(verdict["type_uid"], 200_401);
    assert_eq!(verdict["finding_info"]["uid"], record);
    let link = format!(
        "https://monitor.example/ui/records/{}",
        record.as_str().unwrap()
    );
    assert_eq!(verdict["finding_info"]["src_url"], link);
    assert_eq!(verdict["finding_info"]["types"], json!(["sensitive_data"]));
    assert_eq!(verdict["evidences"][0]["actor"]["user"]["uid"], "anna");
    assert_eq!(verdict["resources"][0]["uid"], stack.application_id());
    assert_eq!(
        verdict["unmapped"]["types"],
        json!([{"type": "EMAILS", "count": 1}])
    );
    assert_eq!(verdict["unmapped"]["action"], "passed");
    let entries = receiver.bodies("audit");
    let made = entries.iter().find(|it| it["message"] == "token.create");
    let made = made.unwrap_or_else(|| panic!("{entries:?}"));
    assert_eq!(
        (&made["class_uid"], &made["type_uid"]),
        (&json!(3004), &json!(300_401))
    );
    assert_eq!(made["entity"]["type"], "token");
    for message in receiver.messages() {
        // Facility 13, severity 5 or 6.
        let is_audited = message.starts_with("<109>1 ") || message.starts_with("<110>1 ");
        assert!(is_audited, "{message}");
        assert!(
            !message.contains("zaphod") && !message.contains("hello"),
            "{message}"
        );
    }
    eventually("it is counted", || {
        let sent = r#"monitor_siem_events_total{destination="soc",result="sent"}"#;
        (stack.metric(sent) >= 2.0).then_some(())
    });
}

#[test]
fn nothing_is_lost_while_the_receiver_is_away_also_over_a_restart() {
    let (folder, port) = (Folder::new(), free_port());
    let yaml = syslog(&format!("tcp://127.0.0.1:{port}"), ", what: [verdicts]");
    let start = || Stack::all().folder(&folder).yaml(&yaml).start();
    let stack = start();
    let mut sent = vec![flagged(&stack, "anna"), flagged(&stack, "boris")];
    let failures = r#"monitor_siem_failures_total{destination="soc"}"#;
    eventually("an attempt fails", || {
        (stack.metric(failures) > 0.0).then_some(())
    });
    eventually("it is behind", || {
        let waiting = stack.metric(r#"monitor_siem_lag_rows{destination="soc"}"#);
        (waiting == 2.0).then_some(())
    });
    assert!(stack.stderr().contains("soc does not take events"));
    drop(stack);
    let stack = start();
    sent.push(flagged(&stack, "clara"));
    let receiver = Receiver::at(port, Box::new(clear));
    eventually("all arrive, in their order", || {
        (receiver.records() == sent).then_some(())
    });
    // Before that, the end of the connection would be one within the batch, which is then sent again.
    eventually("they count as sent", || {
        let count = stack.metric(r#"monitor_siem_events_total{destination="soc",result="sent"}"#);
        (count == 3.0).then_some(())
    });
    // Away once more, and back at the same address.
    drop(receiver);
    let late = [flagged(&stack, "dora"), flagged(&stack, "emil")];
    eventually("an attempt fails", || {
        (stack.metric(failures) > 0.0).then_some(())
    });
    let receiver = Receiver::at(port, Box::new(clear));
    eventually("they arrive", || (receiver.records() == late).then_some(()));
    eventually("nothing waits", || {
        let waiting = stack.metric(r#"monitor_siem_lag_rows{destination="soc"}"#);
        (waiting == 0.0).then_some(())
    });
}

#[test]
fn over_tls_the_receiver_has_to_be_the_one_that_its_authority_vouches_for() {
    let (trusted, other) = (Identity::new(), Identity::new());
    let folder = Folder::new();
    let ca = folder.write("ca.pem", &trusted.cert_pem);
    let port = free_port();
    let ca = format!(", format: cef, ca: {}", ca.display());
    let impostor = Receiver::at(port, other.wrap());
    let stack = Stack::all()
        .yaml(&syslog(&format!("tls://localhost:{port}"), &ca))
        .yaml("    include_user: false\n")
        .start();
    let record = flagged(&stack, "anna");
    let failures = r#"monitor_siem_failures_total{destination="soc"}"#;
    eventually("it is not trusted", || {
        (stack.metric(failures) > 0.0).then_some(())
    });
    assert!(impostor.messages().is_empty());
    drop(impostor);
    let receiver = Receiver::at(port, trusted.wrap());
    let uid = format!("externalId={}", record.as_str().unwrap());
    let message = eventually("it arrives", || {
        let mut messages = receiver.messages().into_iter();
        messages.find(|message| message.contains(&uid))
    });
    assert!(
        message.contains(" monitor-gateway - verdict - CEF:0|Monitor Gateway|"),
        "{message}"
    );
    assert!(
        message.contains("|verdict.passed|") && message.contains("cs3=EMAILS:1"),
        "{message}"
    );
    assert!(!message.contains("anna"), "{message}");
}

#[test]
fn splunk_gets_batches_until_it_answers_200_and_the_token_is_nowhere_else() {
    let is_away = Arc::new(AtomicBool::new(true));
    let away = is_away.clone();
    let collector = Upstream::answering(move |_| match away.load(Ordering::SeqCst) {
        true => answer(503, r#"{"text":"Server is busy","code":9}"#),
        false => answer(200, r#"{"text":"Success","code":0}"#),
    });
    let url = collector.url();
    let destination = format!("{{name: hec, kind: splunk_hec, url: \"{url}\", token: {TOKEN}}}");
    let stack = Stack::all()
        .yaml(&format!("  siem: {{destinations: [{destination}]}}\n"))
        .start();
    let record = flagged(&stack, "anna");
    let failures = r#"monitor_siem_failures_total{destination="hec"}"#;
    eventually("an attempt fails", || {
        (stack.metric(failures) > 0.0).then_some(())
    });
    is_away.store(false, Ordering::SeqCst);
    eventually("it is sent", || {
        let sent = r#"monitor_siem_events_total{destination="hec",result="sent"}"#;
        (stack.metric(sent) > 0.0).then_some(())
    });
    let taken = collector.last();
    assert_eq!(taken.head.target(), "/services/collector/event");
    let authorization = format!("Splunk {TOKEN}");
    assert_eq!(taken.head.header("authorization"), Some(&*authorization));
    let all: Vec<Received> = collector.seen().requests;
    let events = all.iter().flat_map(|request| {
        let lines = std::str::from_utf8(&request.body).unwrap().lines();
        let events = lines.map(|line| serde_json::from_str(line).expect("JSON"));
        events.collect::<Vec<Value>>()
    });
    let is_of_record = |event: &Value| event["event"]["finding_info"]["uid"] == record;
    let events: Vec<Value> = events.filter(is_of_record).collect();
    assert!(events.len() > 1, "sent again after 503");
    assert_eq!(events[0], events[1]);
    assert_eq!(events[0]["sourcetype"], "monitor:verdict");
    assert!(!stack.stderr().contains(TOKEN));
}

#[test]
fn an_event_that_splunk_refuses_for_its_content_is_left_out_and_holds_up_no_other() {
    let refused = Arc::new(Mutex::new(String::new()));
    let (is_away, wrong) = (Arc::new(AtomicBool::new(true)), refused.clone());
    let away = is_away.clone();
    let collector = Upstream::answering(move |request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        match away.load(Ordering::SeqCst) {
            // The index is wrong: everything waits, however often it is said.
            true => answer(400, r#"{"text":"Incorrect index","code":7}"#),
            false if body.contains(&*wrong.lock().unwrap()) => {
                answer(400, r#"{"text":"Invalid data format","code":6}"#)
            }
            false => answer(200, r#"{"text":"Success","code":0}"#),
        }
    });
    let url = collector.url();
    let destination = format!(
        "{{name: hec, kind: splunk_hec, url: \"{url}\", token: {TOKEN}, what: [verdicts]}}"
    );
    let stack = Stack::all()
        .yaml(&format!("  siem: {{destinations: [{destination}]}}\n"))
        .start();
    let records: Vec<Value> = (0..5).map(|_| flagged(&stack, "anna")).collect();
    *refused.lock().unwrap() = records[2].as_str().unwrap().to_owned();
    let failures = r#"monitor_siem_failures_total{destination="hec"}"#;
    eventually("an attempt fails", || {
        (stack.metric(failures) > 0.0).then_some(())
    });
    let left = |result: &str| {
        let name = "monitor_siem_events_total";
        stack.metric(&format!(r#"{name}{{destination="hec",result="{result}"}}"#))
    };
    assert_eq!(left("refused"), 0.0);
    is_away.store(false, Ordering::SeqCst);
    eventually("all have left", || {
        (left("sent") + left("refused") == 5.0).then_some(())
    });
    assert_eq!((left("sent"), left("refused")), (4.0, 1.0));
    assert!(
        stack
            .stderr()
            .contains("hec refuses an event for its content")
    );
    let more = flagged(&stack, "anna");
    eventually("the next one arrives", || {
        let body = collector.last().body;
        String::from_utf8_lossy(&body)
            .contains(more.as_str().unwrap())
            .then_some(())
    });
}

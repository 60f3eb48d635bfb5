//! Calls one after another on one connection, whatever route they take: RFC 9112 9.3.

use support::http::Conn;
use support::request::{CHAT, EMBEDDINGS, MODELS, Request};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, delta, json, sse};

#[test]
fn many_calls_on_one_connection_do_not_mix() {
    // Each answer belongs to its request, whatever kind of answer came before it.
    let upstream = Upstream::answering(|request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        if text.contains("true") {
            sse(&[&delta(0, "streamed"), DONE])
        } else {
            json(200, &text)
        }
    });
    let stack = Stack::before(&upstream);
    let mut conn = Conn::open(stack.gateway_addr);
    for turn in 0..20 {
        let body = format!(
            r#"{{"messages":[],"turn":{turn},"stream":{}}}"#,
            turn % 3 == 0
        );
        conn.send(&Request::chat(&body).bytes());
        let answer = conn.response();
        assert_eq!(answer.status(), 200);
        let expected = if turn % 3 == 0 {
            format!("{}{DONE}", delta(0, "streamed"))
        } else {
            body
        };
        assert_eq!(answer.text(), expected);
    }
}

#[test]
fn routes_take_turns_on_one_connection_whether_or_not_requests_wait_for_answers() {
    // RFC 9112 9.3.2. Monitored calls are served another way than transparent ones.
    let upstream = Upstream::answering(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        json(200, &format!("{} {body}", request.head.start_line))
    });
    let stack = Stack::before(&upstream);
    let body = |turn: usize| format!(r#"{{"messages":[],"turn":{turn}}}"#);
    let request = |turn: usize, is_chunked: bool| {
        let (path, request, body) = match turn % 3 {
            0 => (CHAT, Request::chat(body(turn)), body(turn)),
            1 => (MODELS, Request::get(MODELS), String::new()),
            _ => (
                EMBEDDINGS,
                Request::post(EMBEDDINGS, body(turn)),
                body(turn),
            ),
        };
        match is_chunked && !body.is_empty() {
            true => (path, request.chunked(5), body),
            false => (path, request, body),
        }
    };
    for at_once in [1, 2, 7, 24] {
        // A chunked request that waited behind another one is the last on its connection.
        let requests: Vec<_> = (0..24)
            .map(|turn| request(turn, at_once == 1 && turn % 2 == 0))
            .collect();
        let mut conn = Conn::open(stack.gateway_addr);
        for group in requests.chunks(at_once) {
            let bytes: Vec<_> = group
                .iter()
                .flat_map(|(_, request, _)| request.bytes())
                .collect();
            conn.send(&bytes);
            for (path, _, body) in group {
                let answer = conn.response();
                let expected = format!(" {path} HTTP/1.1 {body}");
                assert_eq!(answer.status(), 200, "{at_once} at once");
                assert!(
                    answer.text().ends_with(&expected),
                    "{} is no {expected}",
                    answer.text()
                );
            }
        }
    }
}

#[test]
fn a_request_that_comes_while_another_is_answered_is_read_whole() {
    // RFC 9112 9.3.2. While the upstream thinks, the gateway looks for the client's end, and may read a byte of the
    // next request.
    let (answer, answers) = std::sync::mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let upstream = Upstream::answering(move |request| {
        answers.lock().unwrap().recv().unwrap();
        json(200, &String::from_utf8_lossy(&request.body))
    });
    let stack = Stack::before(&upstream);
    let request = |turn: usize, is_chat: bool| {
        let body = format!(r#"{{"messages":[],"turn":{turn}}}"#);
        match is_chat {
            true => Request::chat(body),
            false => Request::post(EMBEDDINGS, body),
        }
    };
    for routes in [
        [true; 5],
        [false; 5],
        [true, false, false, true, true],
        [false, true, false, false, true],
    ] {
        let mut conn = Conn::open(stack.gateway_addr);
        let before = upstream.heads();
        conn.send(&request(0, routes[0]).bytes());
        for (turn, is_chat) in routes.into_iter().enumerate().skip(1) {
            upstream.await_heads(before + turn);
            conn.send(&request(turn, is_chat).bytes());
            // Meanwhile the gateway has read what it reads ahead.
            assert_eq!(stack.operations("/livez").status(), 200);
            answer.send(()).unwrap();
            assert!(
                conn.response().text().ends_with(&format!("{}}}", turn - 1)),
                "{routes:?}"
            );
        }
        upstream.await_heads(before + routes.len());
        answer.send(()).unwrap();
        assert!(conn.response().text().ends_with("4}"), "{routes:?}");
    }
}

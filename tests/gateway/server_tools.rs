//! Tools that the model server runs itself, and shells and patches that a program runs: their calls are parts of the
//! record as those of functions are, and what they bring is checked (CONTRACT 15, 41, 46).

use crate::agent_routes::{AGENTS, Api, frame};
use crate::sync::{PHRASE, SYNC, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::request::Request;
use support::server::Received;
use support::stack::Stack;
use support::upstream::{Upstream, json as whole, sse};
use support::{contains, find};

const HELD: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8f";
/// What the local patterns find behind a word that the backend flags.
const WORDS: &str = "forbidden card 2200 1244 6450 7773";

/// Items of an answer; a number between @ marks a place of text.
const ITEMS: &str = r#"[
{"id":"sh_1","type":"shell_call","call_id":"call_sh","status":"completed","action":{"commands":["echo @0@"]}},
{"id":"sho_1","type":"shell_call_output","call_id":"call_sh","output":[{"stdout":"@1@","stderr":"@2@","outcome":{"type":"exit","exit_code":0}}]},
{"id":"lsh_1","type":"local_shell_call","call_id":"call_lsh","status":"completed","action":{"type":"exec","command":["id","@3@"],"env":{}}},
{"id":"ap_1","type":"apply_patch_call","call_id":"call_ap","status":"completed","operation":{"type":"create_file","path":"a","diff":"@4@"}},
{"id":"mcp_1","type":"mcp_call","name":"lookup","server_label":"docs","status":"completed","arguments":"{\"q\":\"@5@\"}","output":"@6@"},
{"id":"fs_1","type":"file_search_call","status":"completed","queries":["@7@"],"results":[{"filename":"plan.txt","text":"@8@"}]},
{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"@9@"}},
{"id":"ci_1","type":"code_interpreter_call","status":"completed","code":"print('@10@')","outputs":[{"type":"logs","logs":"@11@"}]},
{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[]}]}
]"#;

/// The same of blocks.
const BLOCKS: &str = r#"[
{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"@0@"}},
{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"@1@","url":"https://a.example/","encrypted_content":"eA=="}]},
{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_2","content":{"type":"web_fetch_result","url":"https://a.example/","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"@2@"}}}},
{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_3","content":{"type":"bash_code_execution_result","stdout":"@3@","stderr":"@4@","return_code":0,"content":[]}},
{"type":"mcp_tool_use","id":"mcptoolu_1","name":"lookup","server_name":"docs","input":{"q":"@5@"}},
{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"@6@"}]},
{"type":"text","text":"Done."}
]"#;

fn template(api: Api) -> (&'static str, usize) {
    match api == Api::Messages {
        false => (ITEMS, 12),
        true => (BLOCKS, 7),
    }
}

/// Items or blocks with these words at one place, and others at the rest.
fn content(api: Api, place: usize, words: &str) -> Vec<Value> {
    let (template, places) = template(api);
    let fill = |text: String, at: usize| {
        let own = format!("fine {at}");
        text.replace(&format!("@{at}@"), if at == place { words } else { &own })
    };
    let text = (0..places).fold(template.to_owned(), fill);
    serde_json::from_str(&text).unwrap()
}

/// The whole answer of such a content, or its stream.
fn answer(api: Api, content: &[Value], streams: bool) -> Vec<u8> {
    let answer = match api == Api::Messages {
        false => {
            json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m-1",
            "output": content})
        }
        true => {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1",
            "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}})
        }
    };
    if !streams {
        return whole(200, &answer.to_string());
    }
    let mut begun = answer.clone();
    let parts = (0..).zip(content);
    let events: Vec<Value> = match api == Api::Messages {
        false => {
            begun["output"] = json!([]);
            let begun = json!({"type": "response.created", "response": begun});
            let end = json!({"type": "response.completed", "response": answer});
            let items = parts.flat_map(|(index, item)| item_events(index, item));
            [begun].into_iter().chain(items).chain([end]).collect()
        }
        true => {
            begun["content"] = json!([]);
            let begun = json!({"type": "message_start", "message": begun});
            let end = json!({"type": "message_stop"});
            let blocks = parts.flat_map(|(index, block)| block_events(index, block));
            [begun].into_iter().chain(blocks).chain([end]).collect()
        }
    };
    let frames: Vec<String> = events.iter().map(frame).collect();
    sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The events of one item: its beginning, the text that grows, its end.
fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut begun = json!({"id": item["id"], "type": item["type"], "status": "in_progress"});
    for name in ["call_id", "name"] {
        if item[name].is_string() {
            begun[name] = item[name].clone();
        }
    }
    let (grows, member, text) = match item["type"].as_str().unwrap() {
        "shell_call" => {
            begun["action"] = json!({"commands": []});
            let command = &item["action"]["commands"][0];
            ("shell_call_command", "command", command)
        }
        "mcp_call" => ("mcp_call_arguments", "arguments", &item["arguments"]),
        "code_interpreter_call" => ("code_interpreter_call_code", "code", &item["code"]),
        "message" => ("output_text", "text", &item["content"][0]["text"]),
        _ => ("", "", &item["text"]),
    };
    let event = |kind: &str, name: &str, value: &Value| json!({"type": format!("response.{kind}"), "output_index": index, name: value});
    let mut events = vec![event("output_item.added", "item", &begun)];
    if let Some(text) = text.as_str() {
        let pieces = pieces(text).into_iter();
        events.extend(pieces.map(|piece| event(&format!("{grows}.delta"), "delta", &piece)));
        events.push(event(&format!("{grows}.done"), member, &text.into()));
    }
    events.push(event("output_item.done", "item", item));
    events
}

/// The events of one block.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let mut begun = block.clone();
    let deltas: Vec<Value> = if let Some(text) = block["text"].as_str() {
        begun["text"] = "".into();
        let delta = |text: Value| json!({"type": "text_delta", "text": text});
        pieces(text).into_iter().map(delta).collect()
    } else if block["input"].is_object() {
        begun["input"] = json!({});
        let delta = |text: Value| json!({"type": "input_json_delta", "partial_json": text});
        let text = block["input"].to_string();
        pieces(&text).into_iter().map(delta).collect()
    } else {
        Vec::new()
    };
    let delta =
        |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let begun = json!({"type": "content_block_start", "index": index, "content_block": begun});
    let end = json!({"type": "content_block_stop", "index": index});
    let deltas = deltas.into_iter().map(delta);
    [begun].into_iter().chain(deltas).chain([end]).collect()
}

/// A text as models send it, a few letters at a time.
fn pieces(text: &str) -> Vec<Value> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(4);
    pieces
        .map(|piece| String::from_iter(piece).into())
        .collect()
}

/// A model server that says these words at the place that the prompt names, in the API and the form that is asked for.
fn model(words: &'static str) -> Upstream {
    Upstream::answering(move |request: &Received| {
        let api = AGENTS.into_iter();
        let mut api = api.filter(|api| request.head.target() == api.path());
        let (api, body) = (api.next().unwrap(), &request.body);
        let begin = find(body, b"place-").unwrap() + "place-".len();
        let digits = body[begin..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let place: String = digits.map(|byte| char::from(*byte)).collect();
        let streams = contains(body, b"\"stream\": true");
        answer(api, &content(api, place.parse().unwrap(), words), streams)
    })
}

#[test]
fn calls_of_tools_of_every_kind_are_parts_of_the_answer() {
    // CONTRACT 46.
    let (upstream, backend) = (model("fine 0"), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for api in AGENTS {
        let said = content(api, 0, "fine 0");
        let part = |call_id: &str, name: &str, text: &Value| {
            let text = text
                .as_str()
                .map_or_else(|| text.to_string(), str::to_owned);
            json!({"call_id": call_id, "name": name, "text": text})
        };
        let calls = match api == Api::Messages {
            false => vec![
                part("call_sh", "shell", &said[0]["action"]),
                part("call_lsh", "local_shell", &said[2]["action"]),
                part("call_ap", "apply_patch", &said[3]["operation"]),
                part("mcp_1", "lookup", &said[4]["arguments"]),
                part("fs_1", "file_search", &said[5]["queries"]),
                part("ws_1", "web_search", &said[6]["action"]),
                part("ci_1", "code_interpreter", &said[7]["code"]),
            ],
            true => vec![
                part("srvtoolu_1", "web_search", &said[0]["input"]),
                part("mcptoolu_1", "lookup", &said[4]["input"]),
            ],
        };
        let mut texts = Vec::new();
        for streams in [false, true] {
            backend.forget();
            let got = stack.call(&api.call("place-0", streams));
            assert_eq!(got.status(), 200, "{api:?}: {}", got.text());
            let (_, post) = backend.await_exchange();
            let found = post.parameter("tool_calls");
            assert_eq!(*found, json!(calls), "{api:?} {streams}");
            // What the tools brought is no part, and not recorded.
            assert!(post.parameter("tool_results").is_null(), "{api:?}");
            texts.push(post.message().to_owned());
        }
        assert!(texts[0].starts_with("Done.\n"), "{}", texts[0]);
        assert!(!texts[0].contains("fine 6"), "{}", texts[0]);
        assert_eq!(texts[0], texts[1], "{api:?}");
    }
}

#[test]
fn every_text_of_the_servers_own_tools_is_checked_with_the_answer() {
    // CONTRACT 15, 41: the calls, and what they brought.
    let (upstream, backend) = (model(WORDS), Backend::flagging("forbidden"));
    let application = |id: &str, fields: &str| {
        format!(
            "\n- {{id: {id}, app_mode: sync, phrase: {}, {fields}}}",
            json!(PHRASE)
        )
    };
    let yaml = [
        "applications:".to_owned(),
        application(SYNC, "replace_response: true"),
        application(
            HELD,
            "stream_in_sync: hold_back, on_backend_failure: closed",
        ),
    ];
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(&yaml.concat()).start();
    for api in AGENTS {
        // A place that there is none of: nothing is found.
        for (place, is_found) in (0..=template(api).1).map(|place| (place, place < template(api).1))
        {
            for (application, streams) in [(SYNC, false), (SYNC, true), (HELD, false), (HELD, true)]
            {
                let call = api.call(&format!("place-{place}"), streams);
                let got = stack.call(&call.header("X-Application-Id", application));
                let (text, row) = (
                    got.text(),
                    format!("{api:?} {place} {application} {streams}"),
                );
                assert_eq!(got.status(), 200, "{row}: {text}");
                let phrase = json!(PHRASE).to_string();
                let has_phrase = text.contains(phrase.trim_matches('"'));
                assert_eq!(has_phrase, is_found, "{row}: {text}");
                assert!(!text.contains("2200"), "{row}: {text}");
            }
        }
    }
}

#[test]
fn results_of_shells_and_patches_are_parts_of_the_prompt() {
    // An output of a local shell names its call by its own id.
    let items = r#"[{"role":"user","content":"go"},
        {"type":"shell_call","call_id":"c1","status":"completed","action":{"commands":["ls"]}},
        {"type":"shell_call_output","call_id":"c1","output":[{"stdout":"a.txt","stderr":"no such file","outcome":{"type":"exit","exit_code":0}}]},
        {"type":"local_shell_call","id":"lsh_1","call_id":"c2","status":"completed","action":{"type":"exec","command":["id"],"env":{}}},
        {"type":"local_shell_call_output","id":"c2","output":"uid=0"},
        {"type":"apply_patch_call","call_id":"c3","status":"completed","operation":{"type":"delete_file","path":"a.txt"}},
        {"type":"apply_patch_call_output","call_id":"c3","status":"completed","output":"deleted"}]"#;
    let body = format!("{{\"model\":\"m-1\",\"input\":{items}}}");
    let backend = Backend::start();
    let upstream = Upstream::json(200, &Api::Responses.answer("Hello", "ls"));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let got = stack.call(&Request::post("/v1/responses", &body));
    assert_eq!(got.status(), 200, "{}", got.text());
    let (pre, _) = backend.await_exchange();
    let results = json!([
        {"call_id": "c1", "name": "shell", "text": "a.txt\nno such file"},
        {"call_id": "c2", "name": "local_shell", "text": "uid=0"},
        {"call_id": "c3", "name": "apply_patch", "text": "deleted"},
    ]);
    assert_eq!(*pre.parameter("tool_results"), results);
}

#[test]
fn what_tools_brought_is_checked_where_the_role_tool_is() {
    // CONTRACT 3: also what the server's own tools brought, which stands in the assistant's words.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
    let stack = sync(&upstream, ", scan_roles: [tool]");
    let stack = stack.monitor(&backend).start();
    // The places that are results.
    for (api, places) in [
        (Api::Responses, &[1, 2, 6, 8, 11][..]),
        (Api::Messages, &[1, 2, 3, 4, 6]),
    ] {
        for place in places {
            let said = content(api, *place, WORDS);
            let asked = json!({"role": "user", "content": "go"});
            let body = match api == Api::Messages {
                false => {
                    let items = [vec![asked], said].concat();
                    json!({"model": "m-1", "input": items})
                }
                true => {
                    let said = json!({"role": "assistant", "content": said});
                    let further = json!({"role": "user", "content": "go on"});
                    json!({"model": "m-1", "max_tokens": 9, "messages": [asked, said, further]})
                }
            };
            let call = Request::post(api.path(), body.to_string());
            let got = stack.call(&call.header("X-Application-Id", SYNC));
            assert_eq!(api.shown(&got), PHRASE, "{api:?} {place}");
        }
    }
    upstream.assert_untouched();
}

//! The world of the test that looks for secrets: one process with every output on, and a model and a
//! judge that fail in many ways. Calls of agents are in [`crate::secrets_agents`].

use crate::secrets_agents as agents;
use serde_json::{Value, json as object};
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use support::http::Response;
use support::line::signal;
use support::request::Request;
use support::secrets::Secrets;
use support::stack::{Builder, Folder, Stack};
use support::upstream::{Upstream, delta, json, response, sse};

/// Everything around one process, and what came out of it.
pub(crate) struct World {
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) folder: Arc<Folder>,
    pub(crate) collector: Upstream,
    notified: Arc<Mutex<String>>,
    pub(crate) key: String,
    /// What commands printed.
    pub(crate) printed: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let secrets = Arc::new(Secrets::default());
        let folder = Folder::new();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let notified = Arc::new(Mutex::new(String::new()));
        let heard = notified.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length) = socket.recv(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                heard.lock().unwrap().push_str(&text);
            }
        });
        Self {
            key: secrets.make("access key"),
            secrets,
            folder,
            collector: Upstream::json(200, "{}"),
            notified,
            printed: String::new(),
        }
    }

    /// With everything on that tells of a call.
    pub(crate) fn with_outputs(&self, stack: Builder) -> Builder {
        let (log, collector) = (self.log(), self.collector.url());
        let authorization = self.secrets.make("collector");
        stack
            .folder(&self.folder)
            .env("NOTIFY_SOCKET", self.folder.path().join("notify").display().to_string())
            .yaml(&format!(
                "log: {{level: trace, access: {{to: file, file: \"{log}\"}}}}\n\
                 trace: {{endpoint: \"{collector}\", ratio: 1, interval: 10ms, authorization: 'Bearer {authorization}'}}"
            ))
    }

    pub(crate) fn log(&self) -> String {
        self.folder.path().join("access.log").display().to_string()
    }

    /// A chat completion with secrets in every place that has one.
    pub(crate) fn chat(&self, words: &str, key: &str) -> Request {
        let prompt = format!("{words} {}", self.secrets.make("prompt"));
        let address = self.secrets.make("address") + "@example.org";
        let body = object!({"model": "m", "stream": words.contains("stream"), "messages": [
            {"role": "system", "content": self.secrets.make("system prompt")},
            {"role": "user", "content": format!("{prompt} of {address}")},
        ]});
        self.secrets.learn(&prompt, "a prompt");
        self.secrets.learn(&address, "an address");
        let user = self.secrets.make("user");
        let session = self.secrets.make("session");
        Request::chat(body.to_string())
            .without_key()
            .header("X-Monitor-Api-Key", key)
            .header(
                "Authorization",
                &format!("Bearer {}", self.secrets.make_passing("upstream key")),
            )
            .header("X-User-Id", &user)
            .header("X-Session-Id", &session)
    }

    /// An API call with a token.
    pub(crate) fn api(
        &self,
        stack: &Stack,
        key: &str,
        (method, path): (&str, &str),
        body: Value,
    ) -> Response {
        let request = match body {
            Value::Null => Request::new(method, path),
            body => Request::json(method, path, body.to_string()),
        };
        let bearer = format!("Bearer {key}");
        let request = request.without_key().header("Authorization", &bearer);
        self.secrets.call(&request, stack.analysis_addr)
    }

    /// Runs a command of the program in the process's folder, with some input.
    pub(crate) fn run(&mut self, stack: &Stack, args: &[&str], input: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
        command
            .args(args)
            .env_clear()
            .env("MONITOR_DATA_DIR", stack.data_dir())
            .env("UPSTREAM_URL", "http://127.0.0.1:9")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let out = child.wait_with_output().unwrap();
        self.printed += &String::from_utf8_lossy(&out.stderr);
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// The same; what it prints is an output.
    pub(crate) fn show(&mut self, stack: &Stack, args: &[&str], input: &str) {
        let printed = self.run(stack, args, input);
        self.printed += &printed;
    }

    /// Looks for every secret in everything that came out.
    #[track_caller]
    pub(crate) fn assert_silent(&self, stack: &Stack) {
        // Lines are written in their order: whatever was said before is there once this is.
        let reloads = |text: &str| text.matches("configuration reloaded").count();
        let before = reloads(&stack.stderr());
        let serving = stack.operations("/status").json()["process"].as_i64();
        signal(i32::try_from(serving.unwrap()).unwrap(), "HUP");
        let more = |text: &str| (reloads(text) > before).then_some(());
        stack.process.await_stderr("a line of now", more);
        let exports = self.collector.seen().requests;
        let exports: Vec<_> = exports
            .iter()
            .map(|export| String::from_utf8_lossy(&export.body).into_owned())
            .collect();
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let outputs = [
            ("standard error", stack.stderr()),
            ("standard output", stack.process.stdout()),
            ("the access log", log),
            ("metrics", stack.metrics()),
            ("/status", stack.operations("/status").text()),
            ("traces", exports.join("\n")),
            (
                "what the service manager is told",
                self.notified.lock().unwrap().clone(),
            ),
            ("what commands print", self.printed.clone()),
        ];
        for (name, text) in &outputs {
            let may_be_empty = name.starts_with("what") || *name == "traces";
            assert!(may_be_empty || !text.is_empty(), "nothing in {name}");
        }
        self.secrets.assert_absent(&outputs);
    }
}

/// A model that fails where it is told to, and says something of its own.
pub(crate) fn model(secrets: &Arc<Secrets>) -> Upstream {
    let said = secrets.make("answer");
    Upstream::answering(move |request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let answer = object!({"id": "c", "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]});
        let is_chat = request.head.target().contains("chat");
        match text {
            _ if text.contains("fail") => response(500, "", b"out of order"),
            _ if text.contains("nonsense") => b"HTTP/1.1 oops\r\n\r\n".to_vec(),
            // What it was sent, as providers quote a key that they do not know.
            _ if text.contains("quote") => response(401, "", &request.head.raw),
            _ if !is_chat => agents::answer(request.head.target(), &text, &said),
            _ if text.contains("stream") => sse(&[&delta(0, &said)]),
            _ => json(200, &answer.to_string()),
        }
    })
}

/// A judge that is well, fails, or talks nonsense that quotes what it was asked.
pub(crate) fn judge() -> Upstream {
    Upstream::answering(|request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        match text {
            _ if text.contains("judge fails") => response(500, "", &request.body),
            _ if text.contains("judge raves") => json(200, &text),
            _ => response(401, "", &request.body),
        }
    })
}

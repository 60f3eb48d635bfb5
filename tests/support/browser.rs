//! Debian's Chromium, driven over its DevTools protocol through two pipes. One browser per test, with
//! a profile of its own; it ends with the test.

use super::PATIENCE;
use super::stack::Folder;
use base64::Engine as _;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const QUIET: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--force-color-profile=srgb",
];

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: File,
    messages: Receiver<Value>,
    next: u64,
    page: String,
    server: SocketAddr,
    /// Texts of errors and of refusals by the page's policy.
    pub complaints: Vec<String>,
    _profile: Arc<Folder>,
}

impl Browser {
    /// Starts one for pages of this server.
    pub fn start(server: SocketAddr) -> Self {
        let program = super::tool("MONITOR_TEST_CHROMIUM");
        let profile = Folder::new();
        let (to, from) = (profile.path().join("to"), profile.path().join("from"));
        super::make_pipe(&to);
        super::make_pipe(&from);
        let child = Command::new("sh")
            .args([
                "-c",
                r#"to="$1" from="$2"; shift 2; exec "$@" 3<"$to" 4>"$from""#,
                "sh",
            ])
            .args([&to, &from])
            .arg(program)
            .args(QUIET)
            .arg(format!(
                "--user-data-dir={}",
                profile.path().join("profile").display()
            ))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = File::options().write(true).open(to).unwrap();
        let messages = listen(File::open(from).unwrap());
        let mut browser = Self {
            child,
            commands,
            messages,
            next: 0,
            page: String::new(),
            server,
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.new_page();
        browser
    }

    fn new_page(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", attach);
        self.page = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.call(domain, json!({}));
        }
        self.size(1280, 860);
    }

    /// Sends a command and waits for its answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.send(method, params);
        let deadline = Instant::now() + PATIENCE * 2;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self
                .messages
                .recv_timeout(left)
                .map_err(|_| "no answer".to_owned())?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.notice(&message);
        }
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.page.is_empty() {
            message["sessionId"] = json!(self.page);
        }
        self.commands
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        self.next
    }

    /// What happens by itself: a question is answered with yes, an error is remembered.
    fn notice(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Page.javascriptDialogOpening") => {
                self.send("Page.handleJavaScriptDialog", json!({"accept": true}));
            }
            Some("Runtime.exceptionThrown") => self.complaints.push(params.to_string()),
            Some("Log.entryAdded") if params["entry"]["source"] == "security" => {
                self.complaints.push(params["entry"]["text"].to_string());
            }
            _ => {}
        }
    }

    /// Opens a page of the server and waits until it is whole.
    #[track_caller]
    pub fn open(&mut self, path: &str) {
        let address = format!("http://{}{path}", self.server);
        self.call("Page.navigate", json!({"url": address}));
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of an expression of the page; an error while pages change.
    fn try_value(&mut self, expression: &str) -> Result<Value, String> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.try_call("Runtime.evaluate", params)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(details["exception"]["description"].to_string()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// The value of an expression of the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        self.try_value(expression)
            .unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The text of an element.
    #[track_caller]
    pub fn text(&mut self, selector: &str) -> String {
        let value = self.value(&format!(
            "document.querySelector({}).textContent",
            json!(selector)
        ));
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.try_value(expression) != Ok(Value::Bool(true)) {
            if Instant::now() > deadline {
                let page = self
                    .try_value("document.body.innerText")
                    .unwrap_or_default();
                let page = page
                    .as_str()
                    .unwrap_or_default()
                    .chars()
                    .take(1500)
                    .collect::<String>();
                panic!("never true: {expression}\n{page}\n{:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The same of the next page, which has loaded then: its scripts answer to clicks.
    #[track_caller]
    pub fn wait_for_page(&mut self, expression: &str) {
        self.wait_for(&format!(
            "document.readyState === 'complete' && {expression}"
        ));
    }

    /// Types into a field, in place of what stands there.
    #[track_caller]
    pub fn fill(&mut self, selector: &str, text: &str) {
        self.value(&format!(
            "(() => {{ const field = document.querySelector({}); field.focus(); field.value = {}; \
             field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()",
            json!(selector),
            json!(text)
        ));
    }

    /// Clicks an element, wherever it stands.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.value(&format!(
            "document.querySelector({}).click()",
            json!(selector)
        ));
    }

    /// Presses a key on the element with the focus.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let code = match key {
                "ArrowLeft" => 37,
                "ArrowUp" => 38,
                "ArrowRight" => 39,
                "ArrowDown" => 40,
                "Enter" => 13,
                "Escape" => 27,
                other => panic!("the key {other} has no code here"),
            };
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// The size of its window.
    pub fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// The theme that its system asks for.
    pub fn theme(&mut self, theme: &str) {
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", feature);
    }

    /// Writes the whole page as a picture, in a window as high as the page.
    pub fn screenshot(&mut self, name: &str, width: u32) {
        let height = self.value("document.documentElement.scrollHeight");
        let height = height.as_u64().unwrap_or_default().clamp(740, 6_000);
        self.size(width, height as u32);
        let folder = super::monitor()
            .ancestors()
            .nth(2)
            .unwrap()
            .join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        let params = json!({"format": "png"});
        let picture = self.call("Page.captureScreenshot", params);
        let data =
            base64::engine::general_purpose::STANDARD.decode(picture["data"].as_str().unwrap());
        std::fs::write(folder.join(format!("{name}.png")), data.unwrap()).unwrap();
    }

    /// How far things moved by themselves while the page was made, by the browser's own measure, and which.
    #[track_caller]
    pub fn shift(&mut self) -> (f64, Value) {
        let sum = "new Promise(done => { let sum = 0; const moved = []; \
             const told = one => `${one.node?.outerHTML?.slice(0, 80)} ${one.previousRect.x},${one.previousRect.y} \
             ${one.currentRect.x},${one.currentRect.y}`; \
             const add = list => { for (const one of list) if (!one.hadRecentInput) { \
             sum += one.value; moved.push(...one.sources.map(told)); } }; \
             const observer = new PerformanceObserver(list => add(list.getEntries())); \
             observer.observe({type: 'layout-shift', buffered: true}); \
             setTimeout(() => { add(observer.takeRecords()); done([sum, moved]); }, 150); })";
        let shift = self.value(sum);
        (shift[0].as_f64().unwrap(), shift[1].clone())
    }

    /// Bytes that came over the wire for the page and all it loaded.
    #[track_caller]
    pub fn transferred(&mut self) -> u64 {
        let sum = "performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource')) \
             .reduce((sum, one) => sum + one.transferSize, 0)";
        self.value(sum).as_u64().unwrap()
    }

    /// Forgets what it has loaded before.
    pub fn forget_files(&mut self) {
        self.call("Network.clearBrowserCache", json!({}));
    }

    /// What axe-core has to say against the page: none, or each rule with the elements.
    #[track_caller]
    pub fn violations(&mut self) -> Vec<String> {
        let axe = axe();
        self.value(&format!("{axe}; true"));
        let found = self.value(
            "axe.run(document).then(result => result.violations.map(violation => violation.id + ': ' \
             + violation.nodes.map(node => node.target.join(' ') + ' ' + (node.any[0]?.message || '')).join(' | ')))",
        );
        serde_json::from_value(found).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The checks of accessibility, from where `run.sh` puts them.
fn axe() -> String {
    let folder = super::tool("MONITOR_TEST_NODE_DIR");
    let file = PathBuf::from(folder).join("node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn listen(pipe: File) -> Receiver<Value> {
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut message = Vec::new();
        while pipe
            .read_until(0, &mut message)
            .is_ok_and(|length| length > 0)
        {
            if message.last() == Some(&0) {
                message.pop();
            }
            if let Ok(value) = serde_json::from_slice(&message)
                && sender.send(value).is_err()
            {
                return;
            }
            message.clear();
        }
    });
    messages
}

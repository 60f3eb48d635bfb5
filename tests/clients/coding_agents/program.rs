//! The agents as programs: their configuration is that of docs/agents.md with what these tests add, in a home of their
//! own, with no way out but loopback.

use super::model::Shell;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use support::KEY;
use support::snippets::{of_agent, replaced};

/// The application that every agent names.
pub(super) const APPLICATION: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8e";

/// A proxy that nobody runs: what an agent wants of the internet fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";

/// An agent and the way in which it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    Codex,
    /// With a login of a ChatGPT account that nobody has. It compresses its requests for a provider of this name alone.
    CodexWithLogin,
    /// Codex that first dials a WebSocket.
    CodexWithWebSocket,
    /// By the package that speaks the API.
    Opencode(&'static str),
}

pub(super) const CHAT: Agent = Agent::Opencode("@ai-sdk/openai-compatible");
pub(super) const RESPONSES: Agent = Agent::Opencode("@ai-sdk/openai");
pub(super) const MESSAGES: Agent = Agent::Opencode("@ai-sdk/anthropic");

impl Agent {
    fn is_codex(self) -> bool {
        !matches!(self, Self::Opencode(_))
    }

    pub(super) fn shell(self) -> Shell {
        let [name, argument] = match self.is_codex() {
            true => ["exec_command", "cmd"],
            false => ["bash", "command"],
        };
        Shell { name, argument }
    }

    /// The label of its calls in the metrics of the gateway.
    pub(super) fn route(self) -> &'static str {
        match self {
            MESSAGES => "messages",
            CHAT => "chat",
            _ => "responses",
        }
    }

    /// One turn without a person, in the folder `work` of `folder`; it knows the access key if it is to send one.
    pub(super) fn turn(self, folder: &Path, gateway: &str, prompt: &str, has_key: bool) -> Command {
        let (home, work) = (folder.join("home"), folder.join("work"));
        std::fs::create_dir_all(&work).unwrap();
        let mut command = match self.is_codex() {
            true => self.codex(&home, gateway, has_key),
            false => self.opencode(&home, gateway, has_key),
        };
        command.arg(prompt).current_dir(work);
        command
    }

    fn codex(self, home: &Path, gateway: &str, has_key: bool) -> Command {
        let mut block = of_agent(root(), "toml", gateway);
        if self == Self::CodexWithLogin {
            block = replaced(&block, "name = \"Monitor\"", "name = \"OpenAI\"");
            let (key, login) = (
                "env_key = \"OPENAI_API_KEY\"",
                "requires_openai_auth = true",
            );
            block = replaced(&block, key, login);
        }
        if !has_key {
            let key = r#"env_http_headers = { "X-Monitor-Api-Key" = "MONITOR_API_KEY" }"#;
            block = replaced(&block, key, "");
        }
        let dials = self == Self::CodexWithWebSocket;
        // The block ends in the table of the provider.
        let configuration = format!(
            "model = \"m-1\"\ncheck_for_update_on_startup = false\nchatgpt_base_url = \"{NOWHERE}\"\n{block}\n\
             http_headers = {{ \"X-Application-Id\" = \"{APPLICATION}\" }}\nsupports_websockets = {dials}\n\
             [analytics]\nenabled = false\n"
        );
        write(home, ".codex/config.toml", &configuration);
        let mut command = clean(&support::tool("MONITOR_TEST_CODEX"), home);
        if self == Self::CodexWithLogin {
            write(home, ".codex/auth.json", &login_of_nobody());
            command.env_remove("OPENAI_API_KEY");
        }
        // The working folder is a new one, and a sandbox inside that of a test run may not start.
        command.args(["exec", "--skip-git-repo-check", "--color", "never"]);
        command.arg("--dangerously-bypass-approvals-and-sandbox");
        command
    }

    fn opencode(self, home: &Path, gateway: &str, has_key: bool) -> Command {
        let Self::Opencode(package) = self else {
            unreachable!("{self:?}")
        };
        let block = of_agent(root(), "json", gateway).replace("demo-small", "m-1");
        let mut configuration: Value = serde_json::from_str(&block).unwrap();
        configuration["autoupdate"] = false.into();
        configuration["share"] = "disabled".into();
        let provider = &mut configuration["provider"]["monitor"];
        provider["npm"] = package.into();
        let headers = provider["options"]["headers"].as_object_mut().unwrap();
        assert!(headers.contains_key("X-Monitor-Api-Key"));
        headers.retain(|_, _| has_key);
        headers.insert("X-Application-Id".to_owned(), APPLICATION.into());
        let file = ".config/opencode/opencode.json";
        write(home, file, &configuration.to_string());
        let mut command = clean(&support::tool("MONITOR_TEST_OPENCODE"), home);
        command
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .env("npm_config_fetch_retries", "0")
            .arg("run");
        command
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn write(home: &Path, file: &str, text: &str) {
    let path = home.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A program with nothing of this environment but where programs are found.
fn clean(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, NOWHERE);
        command.env(name.to_lowercase(), NOWHERE);
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "127.0.0.1,localhost");
    }
    command
        .env("HOME", home)
        .env("TERM", "dumb")
        .env("MONITOR_API_KEY", KEY)
        .env("OPENAI_API_KEY", "sk-of-nobody");
    command
}

/// A login as Codex keeps it: a token without a signature, of an account that nobody has.
fn login_of_nobody() -> String {
    let account = json!({"chatgpt_account_id": "acc-1", "chatgpt_plan_type": "pro", "chatgpt_user_id": "u-1"});
    let claims = json!({"exp": 4_000_000_000_u32, "email": "a@example.com", "https://api.openai.com/auth": account});
    let [head, claims, signature] = [json!({"alg": "none", "typ": "JWT"}), claims, json!("none")]
        .map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let token = format!("{head}.{claims}.{signature}");
    let tokens = json!({"id_token": token, "access_token": token, "refresh_token": "r", "account_id": "acc-1"});
    let login = json!({"auth_mode": "chatgpt", "OPENAI_API_KEY": null, "tokens": tokens, "last_refresh": "2096-01-01T00:00:00Z"});
    login.to_string()
}

//! What agents show of each kind of answer, and how often they call: docs/agents.md has the table for people.
//! `tests/campaign/agents.sh` installs the programs and runs this; `tests/run.sh` does not.

use super::model::{MADE, Model, REFUSAL, SAID};
use super::program::{APPLICATION, Agent, CHAT, MESSAGES, RESPONSES};
use std::time::{Duration, Instant};
use support::backend::Backend;
use support::fault::refusing_address;
use support::process::Process;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;
use support::{PATIENCE, contains};

/// What the backend flags.
const FORBIDDEN: &str = "forbidden";
const PHRASE: &str = "This is not allowed here.";
/// The longest turn: an agent may wait for a limit, and begins slowly on a busy machine.
const LONGEST: Duration = Duration::from_secs(240);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Situation {
    OneTurn,
    TurnWithTool,
    /// The prompt is blocked before the model.
    Blocked,
    /// `hold_back` finds something in the arguments of a tool that has begun.
    CutInTool,
    /// Synchronous mode without `stream_in_sync`.
    StreamAnsweredWhole,
    /// 401 of the gateway's.
    NoKey,
    /// This status from the model server.
    Refused(u16),
    /// 429 of the gateway's, in the middle of a turn.
    Limited,
    StreamBreaks,
    /// 502 of the gateway's.
    ModelUnreachable,
}

impl Situation {
    fn model(self) -> Model {
        match self {
            Self::TurnWithTool | Self::Limited => Model::RunsThenSays,
            Self::CutInTool => Model::Pays,
            Self::Refused(status) => Model::Fails(status),
            Self::StreamBreaks => Model::Breaks,
            _ => Model::Says,
        }
    }

    /// The policy of the application; opencode calls once more for the title.
    fn policy(self, agent: Agent) -> String {
        let calls = if agent.shell().name == "bash" { 2 } else { 1 };
        let sync = format!("app_mode: sync, phrase: {PHRASE}");
        match self {
            Self::Blocked | Self::CutInTool => format!("{sync}, stream_in_sync: hold_back"),
            Self::StreamAnsweredWhole => sync,
            Self::Limited => {
                format!("app_mode: async, limits: {{requests_per_minute: 4, burst: {calls}}}")
            }
            _ => "app_mode: async".to_owned(),
        }
    }

    fn prompt(self) -> String {
        match self {
            Self::Blocked => format!("say something {FORBIDDEN}"),
            _ => "say something kind".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Exit(i32),
    /// It calls again and again; the test ends it after as many calls as the row says.
    CallsOn,
}

/// One turn of an agent.
struct Row {
    agent: Agent,
    situation: Situation,
    /// Calls at the gateway.
    called: usize,
    /// Calls at the model server.
    asked: usize,
    end: End,
    /// What it prints, among other things.
    shows: &'static str,
}

const MISSING: &str = "X-Monitor-Api-Key is missing";
const UNREACHABLE: &str = "the upstream cannot be reached";

fn row(
    agent: Agent,
    situation: Situation,
    calls: [usize; 2],
    end: End,
    shows: &'static str,
) -> Row {
    let [called, asked] = calls;
    Row {
        agent,
        situation,
        called,
        asked,
        end,
        shows,
    }
}

fn codex() -> Vec<Row> {
    use Agent::{Codex, CodexWithLogin, CodexWithWebSocket};
    use End::Exit;
    use Situation::*;
    vec![
        row(Codex, OneTurn, [1, 1], Exit(0), SAID),
        row(Codex, TurnWithTool, [2, 2], Exit(0), SAID),
        row(Codex, Blocked, [1, 0], Exit(0), PHRASE),
        row(Codex, CutInTool, [1, 1], Exit(0), PHRASE),
        row(Codex, NoKey, [6, 0], Exit(1), MISSING),
        row(Codex, Refused(401), [6, 6], Exit(1), REFUSAL),
        row(Codex, Refused(429), [1, 1], Exit(1), "exceeded retry limit"),
        // It waits as long as Retry-After says.
        row(Codex, Limited, [3, 2], Exit(0), SAID),
        row(Codex, ModelUnreachable, [30, 0], Exit(1), UNREACHABLE),
        row(
            Codex,
            StreamBreaks,
            [6, 6],
            Exit(1),
            "stream closed before response.completed",
        ),
        row(CodexWithLogin, OneTurn, [1, 1], Exit(0), SAID),
        row(CodexWithLogin, Blocked, [1, 0], Exit(0), PHRASE),
        row(CodexWithWebSocket, OneTurn, [1, 1], Exit(0), SAID),
    ]
}

/// The title of a session is a call of its own.
fn opencode() -> Vec<Row> {
    use End::{CallsOn, Exit};
    use Situation::*;
    let mut rows = vec![
        row(CHAT, TurnWithTool, [3, 3], Exit(0), SAID),
        row(CHAT, CutInTool, [2, 2], Exit(1), PHRASE),
        row(CHAT, StreamAnsweredWhole, [8, 8], CallsOn, ""),
        row(CHAT, NoKey, [2, 0], Exit(1), MISSING),
        row(CHAT, Refused(401), [2, 2], Exit(1), REFUSAL),
        row(CHAT, Refused(429), [6, 6], CallsOn, ""),
        row(CHAT, Limited, [4, 3], Exit(0), SAID),
        row(CHAT, ModelUnreachable, [6, 0], CallsOn, ""),
        row(CHAT, StreamBreaks, [6, 6], CallsOn, ""),
        row(RESPONSES, CutInTool, [2, 2], Exit(0), PHRASE),
        row(MESSAGES, CutInTool, [2, 2], Exit(0), PHRASE),
    ];
    for agent in [CHAT, RESPONSES, MESSAGES] {
        rows.push(row(agent, OneTurn, [2, 2], Exit(0), SAID));
        rows.push(row(agent, Blocked, [2, 0], Exit(0), PHRASE));
    }
    rows
}

#[test]
#[ignore = "needs Codex: tests/campaign/agents.sh"]
fn codex_calls_and_shows_what_the_table_says() {
    check(&codex());
}

#[test]
#[ignore = "needs opencode: tests/campaign/agents.sh"]
fn opencode_calls_and_shows_what_the_table_says() {
    check(&opencode());
}

#[track_caller]
fn check(rows: &[Row]) {
    let mut faults = Vec::new();
    for row in rows {
        let seen = World::of(row).turn(row);
        println!("| {:?} | {:?} | {seen}", row.agent, row.situation);
        faults.extend(seen.faults(row));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A gateway with its model server, its backend, and a folder for one agent.
struct World {
    model: Upstream,
    backend: Backend,
    stack: Stack,
    folder: std::sync::Arc<Folder>,
}

impl World {
    fn of(row: &Row) -> Self {
        let model = row.situation.model().start(row.agent.shell());
        let backend = Backend::flagging(FORBIDDEN);
        let policy = row.situation.policy(row.agent);
        let stack = Stack::gateway()
            .upstream(&model)
            .monitor(&backend)
            .yaml(&format!("applications:\n- {{id: {APPLICATION}, {policy}}}"));
        let stack = match row.situation {
            Situation::ModelUnreachable => {
                stack.env("UPSTREAM_URL", format!("http://{}", refusing_address()))
            }
            _ => stack,
        };
        Self {
            model,
            backend,
            stack: stack.start(),
            folder: Folder::new(),
        }
    }

    fn turn(&self, row: &Row) -> Seen {
        let gateway = format!("http://{}", self.stack.gateway_addr);
        let has_key = row.situation != Situation::NoKey;
        let prompt = row.situation.prompt();
        let folder = self.folder.path();
        let mut command = row.agent.turn(folder, &gateway, &prompt, has_key);
        let mut agent = Process::start(&mut command);
        let exit = self.await_end(row, &mut agent);
        // A call counts once all of it is over, a moment behind the last byte that the agent reads.
        let start = Instant::now();
        while self.called(row) < row.called && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let printed = agent.stdout() + &agent.stderr();
        Seen {
            called: self.called(row),
            asked: self.posts().len(),
            exit,
            has_made: folder.join("work").join(MADE).exists(),
            is_compressed: self.posts().iter().any(|encoding| encoding == "zstd"),
            is_recorded: self.is_recorded(&prompt),
            printed,
        }
    }

    /// Its exit code; None where it calls on, and is ended.
    fn await_end(&self, row: &Row, agent: &mut Process) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = agent.exited() {
                return status.code();
            }
            let is_enough = row.end == End::CallsOn && self.called(row) >= row.called;
            if is_enough || start.elapsed() > LONGEST {
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Calls at the gateway, whatever became of them.
    fn called(&self, row: &Row) -> usize {
        let route = format!("route=\"{}\"", row.agent.route());
        let metrics = self.stack.metrics();
        let series = metrics
            .lines()
            .filter(|line| line.starts_with("monitor_requests_total{") && line.contains(&route));
        let counts = series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<usize>().ok());
        counts.sum()
    }

    /// The codings of the bodies that were posted to the model server.
    fn posts(&self) -> Vec<String> {
        let heads = self.model.seen().heads.into_iter();
        let posts = heads.filter(|head| head.start_line.starts_with("POST "));
        let coding = |head: support::message::Head| {
            head.header("content-encoding")
                .unwrap_or_default()
                .to_owned()
        };
        posts.map(coding).collect()
    }

    fn is_recorded(&self, prompt: &str) -> bool {
        let calls = self.backend.calls();
        let mut prompts = calls.iter().filter(|call| call.is_pre());
        prompts.any(|call| contains(call.message().as_bytes(), prompt.as_bytes()))
    }
}

/// What a turn was like.
struct Seen {
    called: usize,
    asked: usize,
    exit: Option<i32>,
    has_made: bool,
    is_compressed: bool,
    is_recorded: bool,
    printed: String,
}

impl Seen {
    fn faults(&self, row: &Row) -> Option<String> {
        let runs = matches!(row.situation, Situation::TurnWithTool | Situation::Limited);
        let compresses = row.agent == Agent::CodexWithLogin && row.asked > 0;
        let calls = match row.end {
            End::Exit(code) => {
                self.exit == Some(code) && [self.called, self.asked] == [row.called, row.asked]
            }
            // A call may be under way when it is ended.
            End::CallsOn => {
                self.exit.is_none() && self.called >= row.called && self.asked >= row.asked
            }
        };
        let is_right = calls
            && self.printed.contains(row.shows)
            && self.has_made == runs
            && self.is_compressed == compresses
            && self.is_recorded == (row.situation != Situation::NoKey);
        let (agent, situation) = (row.agent, row.situation);
        (!is_right).then(|| format!("{agent:?}, {situation:?}: {self}\n{}", self.printed))
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let exit = self
            .exit
            .map_or("calls on".to_owned(), |code| format!("exit {code}"));
        let tool = if self.has_made { "tool run" } else { "" };
        let zstd = if self.is_compressed { "zstd" } else { "" };
        let recorded = if self.is_recorded { "recorded" } else { "" };
        let calls = [self.called, self.asked];
        write!(
            f,
            "calls {calls:?} | {exit} | {tool} | {zstd} | {recorded} |"
        )
    }
}

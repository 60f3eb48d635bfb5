//! The shell commands of README and of the quick start, and the Python client of the quick start, run as they
//! stand. A block that only starts the program runs beside the others; they share one shell, as the reader's
//! second terminal does. What differs from a reader's machine is named in [`Reader`]: `cargo run` starts the
//! binary that is there, on free ports.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::PATIENCE;
use support::fault::free_port;
use support::process::Process;
use support::snippets;
use support::stack::Folder;

const START: &str = "cargo run --release";
/// What the shell prints behind each block, with the status of its last command.
const END: &str = "__END__";
const QUICK_START: &str = "docs/quickstart.md";
/// What the quick start writes in its client for the reader's access key.
const KEY_OF_THE_PAGE: &str = "\"the access key\"";
/// Between two runs of a block whose answer is not there yet: records arrive in the background.
const PAUSE: Duration = Duration::from_millis(50);

/// The blocks of a page in a language, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    snippets::blocks(Path::new(env!("CARGO_MANIFEST_DIR")), page, language)
}

/// Somebody who follows a page in a folder of their own.
struct Reader {
    folder: Arc<Folder>,
    /// The ports of the pages, and the free ones in their place.
    ports: Vec<(&'static str, String)>,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    server: Option<Process>,
}

impl Reader {
    fn new() -> Self {
        let folder = Folder::new();
        let cargo = folder.write(
            "cargo",
            &format!(
                "#!/bin/sh\n# cargo run [-q] --release [-- ARGUMENTS…]\n\
                 [ \"$1\" = run ] && shift || exit 64\n[ \"$1\" = -q ] && shift\n\
                 [ \"$1\" = --release ] && shift || exit 64\n[ $# = 0 ] || [ \"$1\" = -- ] || exit 64\n\
                 [ $# = 0 ] || shift\nexec '{}' \"$@\"\n",
                env!("CARGO_BIN_EXE_monitor")
            ),
        );
        std::fs::set_permissions(cargo, PermissionsExt::from_mode(0o755)).unwrap();
        let ports = ["4100", "4200", "4101"]
            .map(|port| (port, free_port().to_string()))
            .to_vec();
        let mut command = Self::command(&folder, &ports);
        let mut shell = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: shell.stdin.take().unwrap(),
            output: BufReader::new(shell.stdout.take().unwrap()),
            shell,
            folder,
            ports,
            server: None,
        }
    }

    /// A shell in the folder, in which the program listens on the free ports.
    fn command(folder: &Folder, ports: &[(&'static str, String)]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", folder.path().display()));
        let variables = ["GATEWAY_LISTEN", "ANALYSIS_LISTEN", "OPERATIONS_LISTEN"];
        for (variable, (_, port)) in variables.iter().zip(ports) {
            command.env(variable, format!("127.0.0.1:{port}"));
        }
        command
    }

    /// Runs a block; gives what it printed.
    #[track_caller]
    fn run(&mut self, block: &str) -> String {
        if block == START {
            let mut command = Self::command(&self.folder, &self.ports);
            let server = Process::start(command.args(["-c", &format!("exec {block}")]));
            server.await_stdout("the address of the gateway", |text| {
                text.contains("Try it:").then_some(())
            });
            self.server = Some(server);
            return String::new();
        }
        let block = self
            .ports
            .iter()
            .fold(block.to_owned(), |block, (port, free)| {
                block.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{free}"))
            });
        writeln!(
            self.input,
            "{block}\nstatus=$?\necho\necho \"{END} $status\""
        )
        .unwrap();
        self.input.flush().unwrap();
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the shell ended in\n{block}\n{printed}");
            match line.strip_prefix(END) {
                Some(status) => {
                    assert_eq!(status.trim(), "0", "{block}\n{printed}");
                    return printed;
                }
                None => printed.push_str(&line),
            }
        }
    }

    /// Runs a block until it prints what the page says.
    #[track_caller]
    fn sees(&mut self, block: &str, expected: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let printed = self.run(block);
            if printed.contains(expected) {
                return;
            }
            let is_late = Instant::now() > deadline;
            assert!(!is_late, "no {expected} from\n{block}\nbut\n{printed}");
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Runs every block of a page; each prints what stands in its place here.
#[track_caller]
fn follow(page: &str, expected: &[&str]) -> Reader {
    let blocks = blocks(page, "sh");
    assert_eq!(blocks.len(), expected.len(), "{page}: {blocks:#?}");
    let mut reader = Reader::new();
    for (block, expected) in blocks.iter().zip(expected) {
        reader.sees(block, expected);
    }
    reader
}

#[test]
#[ignore = "needs curl"]
fn the_commands_of_the_readme_lead_to_a_blocked_request() {
    let answer = "\"object\":\"chat.completion\"";
    let mut reader = follow("README.md", &["", answer, "\"app_mode\":\"sync\""]);
    // "Make the call again."
    reader.sees(&blocks("README.md", "sh")[1], "I cannot help with that.");
}

/// Somebody who has followed the quick start up to its client.
#[track_caller]
fn follow_the_quick_start() -> Reader {
    let count = "{\"type\":\"BANK_CARD_NUMBER\",\"count\":1}";
    let record = "My card is [BANK_CARD_NUMBER]";
    let steps = ["", "", "\"object\":\"chat.completion\"", count, record];
    let blocked = ["\"app_mode\":\"sync\"", "I cannot help with that."];
    follow(QUICK_START, &[&steps[..], &blocked[..]].concat())
}

#[test]
#[ignore = "needs curl"]
fn the_commands_of_the_quick_start_lead_from_a_call_to_its_record_and_a_blocked_one() {
    follow_the_quick_start();
}

#[test]
#[ignore = "needs curl, and Python with openai"]
fn the_client_of_the_quick_start_prints_the_stream_of_an_application_that_blocks() {
    let python = support::tool("MONITOR_TEST_PYTHON");
    let mut reader = follow_the_quick_start();
    let clients = blocks(QUICK_START, "python");
    assert_eq!(clients.len(), 1, "{clients:#?}");
    assert!(clients[0].contains(KEY_OF_THE_PAGE), "{}", clients[0]);
    // The shell puts its variable in.
    let client = clients[0].replace(KEY_OF_THE_PAGE, "\"$KEY\"");
    let block = format!("'{python}' - <<END_OF_CLIENT\n{client}\nEND_OF_CLIENT");
    reader.sees(&block, "This is the demo upstream.");
}

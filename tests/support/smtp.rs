//! A mail server that a test scripts, and the letters that it took.

use super::message::Stream;
use super::server::{Server, Wrap};
use super::tls::Identity;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// A letter that it took.
#[derive(Clone, Debug, Default)]
pub struct Letter {
    /// What MAIL named.
    pub from: String,
    /// What RCPT named.
    pub to: Vec<String>,
    /// Head and body.
    pub text: String,
    /// User and password, each behind a NUL.
    pub login: Option<String>,
    /// Whether it came over TLS.
    pub encrypted: bool,
}

type Answer = Box<dyn Fn(&str) -> Option<&'static str> + Send + Sync>;

struct World {
    /// None: it offers no STARTTLS.
    wrap: Option<Wrap>,
    answer: Answer,
    letters: Mutex<Vec<Letter>>,
}

/// The mail server.
pub struct MailServer {
    server: Server,
    world: Arc<World>,
}

impl MailServer {
    /// Takes every letter, but for commands to which `answer` has another answer. With an identity it offers STARTTLS.
    pub fn start(
        identity: Option<&Identity>,
        answer: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let world = Arc::new(World {
            wrap: identity.map(Identity::wrap),
            answer: Box::new(answer),
            letters: Mutex::default(),
        });
        let own = world.clone();
        let wrap: Wrap = Box::new(move |socket| {
            session(socket, &own);
            None
        });
        let server = Server::start(wrap, Box::new(|_| {}));
        Self { server, world }
    }

    /// Host and port.
    pub fn address(&self) -> String {
        self.server.address.to_string()
    }

    /// Every letter so far.
    pub fn letters(&self) -> Vec<Letter> {
        self.world.letters.lock().unwrap().clone()
    }

    /// How often somebody connected.
    pub fn connections(&self) -> usize {
        self.server.ledger.now().connections
    }
}

/// One connection; None when it ends.
fn session(socket: TcpStream, world: &World) -> Option<()> {
    let control = socket.try_clone().ok()?;
    let mut stream: BufReader<Box<dyn Stream>> = BufReader::new(Box::new(socket));
    let mut letter = Letter::default();
    say(&mut stream, "220 mail.test ready")?;
    loop {
        let line = line(&mut stream)?;
        if let Some(other) = (world.answer)(&line) {
            say(&mut stream, other)?;
            continue;
        }
        let verb = line.split([' ', ':']).next().unwrap_or_default();
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" if world.wrap.is_some() && !letter.encrypted => {
                say(&mut stream, "250-mail.test\r\n250 STARTTLS")?;
            }
            "EHLO" => say(&mut stream, "250-mail.test\r\n250 AUTH PLAIN LOGIN")?,
            "STARTTLS" => {
                say(&mut stream, "220 go ahead")?;
                let wrap = world.wrap.as_ref()?;
                stream = BufReader::new(wrap(control.try_clone().ok()?)?);
                letter.encrypted = true;
            }
            "AUTH" => {
                let coded = line.rsplit(' ').next().unwrap_or_default();
                let login = STANDARD.decode(coded).unwrap();
                letter.login = Some(String::from_utf8(login).unwrap());
                say(&mut stream, "235 welcome")?;
            }
            "MAIL" => {
                letter.from = named(&line);
                say(&mut stream, "250 ok")?;
            }
            "RCPT" => {
                letter.to.push(named(&line));
                say(&mut stream, "250 ok")?;
            }
            "DATA" => {
                say(&mut stream, "354 go ahead")?;
                letter.text = text(&mut stream)?;
                world.letters.lock().unwrap().push(letter.clone());
                say(&mut stream, "250 taken")?;
            }
            "QUIT" => return say(&mut stream, "221 bye"),
            _ => say(&mut stream, "500 unknown")?,
        }
    }
}

fn say(stream: &mut BufReader<Box<dyn Stream>>, text: &str) -> Option<()> {
    let stream = stream.get_mut();
    stream.write_all(format!("{text}\r\n").as_bytes()).ok()?;
    stream.flush().ok()
}

fn line(stream: &mut BufReader<Box<dyn Stream>>) -> Option<String> {
    let mut line = String::new();
    match stream.read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}

/// Everything up to the line with a dot.
fn text(stream: &mut BufReader<Box<dyn Stream>>) -> Option<String> {
    let mut text = String::new();
    loop {
        match line(stream)?.as_str() {
            "." => return Some(text),
            line => text += &format!("{line}\n"),
        }
    }
}

/// What stands between angle brackets.
fn named(line: &str) -> String {
    let (_, rest) = line.split_once('<').unwrap();
    rest.split_once('>').unwrap().0.to_owned()
}

//! Decides whether a name with a public suffix is a host. Many suffixes are also words, file extensions or
//! member names ("main.rs", "user.name"); such a name needs evidence next to it.

use crate::chars::{is_blank, is_word_char};

/// Suffixes that are also endings of files, members of programs or words, in small letters.
const WORDS: &[&str] = &[
    "bar",
    "bin",
    "cab",
    "cc",
    "ml",
    "mm",
    "mk",
    "mov",
    "md",
    "pm",
    "properties",
    "ps",
    "py",
    "rs",
    "sh",
    "so",
    "tf",
    "zip",
    "java",
    "bz",
    "bat",
    "pub",
    "map",
    "src",
    "dot",
    "name",
    "date",
    "data",
    "call",
    "read",
    "open",
    "post",
    "search",
    "select",
    "link",
    "click",
    "style",
    "page",
    "box",
    "run",
    "play",
    "save",
    "target",
    "today",
    "type",
    "new",
    "now",
    "how",
    "here",
    "python",
    "android",
    "windows",
    "phone",
    "room",
    "show",
    "order",
    "barcode",
    "events",
    "docs",
    "directory",
    "build",
    "report",
    "final",
    "id",
    "do",
    "as",
    "is",
    "foo",
    "ing",
    "дети",
    "ком",
    "москва",
    "онлайн",
    "орг",
    "сайт",
    "католик",
    "мон",
];
/// What programs call the things whose members look like hosts: "this.app", "logger.info".
const OWNERS: &[&str] = &[
    "self", "this", "user", "request", "req", "res", "response", "obj", "object", "item", "config",
    "settings", "module", "window", "document", "console", "logger", "log", "event", "args",
    "props", "state", "ctx", "context", "app", "node", "element", "data", "file", "path", "os",
    "sys", "math", "model", "row", "record", "std", "np", "pd", "torch", "process", "db",
];
/// Suffixes that a name of digits alone may have: "163.com".
const OF_DIGITS: &[&str] = &["com", "net", "org", "ru", "cn"];
/// First labels of the names of packages: "org.example.app".
const REVERSED: &[&str] = &["com", "org", "net", "edu", "gov", "java", "javax"];
/// Beginnings of words that say host, right before the name.
const HOST_WORDS: &[&str] = &[
    "сайт",
    "домен",
    "хост",
    "поддомен",
    "портал",
    "сервер",
    "зеркал",
    "ресурс",
    "site",
    "website",
    "domain",
    "subdomain",
    "host",
    "hostname",
    "server",
    "url",
    "visit",
    "nslookup",
    "dig",
    "whois",
    "ping",
    "curl",
    "wget",
    "dns",
];
/// How far back such a word is looked for, in bytes.
const REACH: usize = 40;

/// Whether what stands around a name says that it is a host.
pub(super) fn is_named(head: &str, tail: &str) -> bool {
    let path = tail.starts_with('/') && tail[1..].starts_with(is_word_char);
    let port = tail
        .strip_prefix(':')
        .is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
    head.ends_with("//") || head.ends_with("*.") || path || port || is_called(head)
}

/// Whether a name says by itself that it is a host.
pub(super) fn is_plain(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.starts_with(char::is_uppercase) && last.contains(char::is_lowercase) {
        return false;
    }
    let lower = name.to_lowercase();
    let mut labels = lower.split('.');
    let first = labels.next().unwrap_or_default();
    let top = labels.next_back().unwrap_or_default();
    let inner = labels.count();
    let second = lower[..lower.len() - top.len() - 1]
        .rsplit('.')
        .next()
        .unwrap_or_default();
    if second.bytes().all(|byte| byte.is_ascii_digit()) {
        return OF_DIGITS.contains(&top);
    }
    if REVERSED.contains(&first) && inner > 0
        || OWNERS.contains(&first) && first.len() + top.len() + 1 == lower.len()
    {
        return false;
    }
    first == "www" || lower.contains('-') && !top.contains('-') || !WORDS.contains(&top)
}

fn is_called(head: &str) -> bool {
    let near = &head[head.floor_char_boundary(head.len().saturating_sub(REACH))..];
    let near = near
        .trim_end_matches(|c: char| is_blank(c) || matches!(c, ':' | '=' | '«' | '"' | '`' | '\''));
    let word = near
        .rsplit(|c: char| !is_word_char(c))
        .next()
        .unwrap_or_default();
    let folded = word.to_lowercase();
    HOST_WORDS.iter().any(|stem| folded.starts_with(stem))
}

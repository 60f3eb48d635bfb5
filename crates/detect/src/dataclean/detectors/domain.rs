//! DOMAIN (§2.8): host names under a public suffix, Unicode and punycode included. Of a URL, only the host.
//! File names, members of program objects and parts of e-mail addresses do not count.

use super::domain_evidence::{is_named, is_plain};
use super::email_domain::{LONGEST_DOMAIN, domain_length, label_char};
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};

pub(crate) struct Domain;

/// RFC 5321 §4.5.3.1: no longer word before an `@` is a local part.
const LONGEST_LOCAL: usize = 64;
/// Files that are named like hosts under a country's or a company's suffix.
const FRAMEWORKS: &[&str] = &["asp.net", "ado.net", "vb.net", "ml.net"];

impl Detector for Domain {
    fn name(&self) -> PatternName {
        PatternName::Domain
    }

    fn needs(&self) -> Needs {
        Needs::Dot
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let text = text.original();
        let mut from = 0;
        while let Some(dot) = memchr::memchr(b'.', &text.as_bytes()[from..]) {
            let dot = from + dot;
            from = dot + 1;
            let Some((start, end)) = run_around(text, dot) else {
                continue;
            };
            from = end.max(from);
            if let Some((start, end)) = host(text, start, end) {
                out.push(Span::new(self.name(), start..end, Strength::Form));
            }
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        let whole = text.original();
        // One more character says whether a path or a port follows.
        let open = whole.strip_suffix(['/', ':']).unwrap_or(whole);
        let (mut end, mut settled) = (open.len(), whole.len());
        while whole.len() - end <= LONGEST_LOCAL + 1 {
            let run = &open[run_start(open, end)..end];
            let host = run.trim_start_matches(['.', '-']);
            if is_alive(host) && (end == open.len() || host.contains('.')) {
                settled = end - host.len();
            }
            let head = &open[..end - run.len()];
            end = head.trim_end_matches(is_local).len();
            if end == head.len() {
                break;
            }
        }
        Some(settled)
    }
}

/// Bytes of one label, without dots (RFC 1035 §2.3.4).
const LONGEST_LABEL: usize = 63;

/// What a local part holds and a host name does not.
fn is_local(c: char) -> bool {
    matches!(c, '_' | '%' | '+' | '\'' | '@')
}

/// Whether the beginning of a host name may still become one.
fn is_alive(host: &str) -> bool {
    let first = host.find('.').unwrap_or(host.len());
    !host.is_empty() && host.len() <= LONGEST_DOMAIN && first <= LONGEST_LABEL
}

/// Where the run of host characters begins that ends here. Two dots part what stands around them.
fn run_start(text: &str, end: usize) -> usize {
    let run = text[..end].trim_end_matches(label_char).len();
    text[run..end]
        .rfind("..")
        .map_or(run, |dots| run + dots + 2)
}

/// The whole run of host characters around a dot that has one of them on each side.
fn run_around(text: &str, dot: usize) -> Option<(usize, usize)> {
    let joins = |c: char| label_char(c) && c != '.';
    if !text[..dot].ends_with(joins) || !text[dot + 1..].starts_with(joins) {
        return None;
    }
    let tail = &text[dot..];
    let run = tail.find(|c| !label_char(c)).unwrap_or(tail.len());
    let end = dot + tail[..run].find("..").unwrap_or(run);
    Some((run_start(text, dot), end))
}

/// The host in a run of host characters.
fn host(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let start = end - text[start..end].trim_start_matches(['.', '-']).len();
    if end - start > LONGEST_DOMAIN || !is_free(&text[..start], &text[end..]) {
        return None;
    }
    let end = start + domain_length(&text[start..end])?;
    let name = text[start..end].to_lowercase();
    let suffix = psl::suffix(name.as_bytes()).filter(|suffix| suffix.is_known())?;
    // "co.uk" is none; "github.io" is a host of its own although others live under it.
    let private = suffix.typ() == Some(psl::Type::Private);
    let below = name.len() > suffix.as_bytes().len() || private && name.contains('.');
    let framework =
        FRAMEWORKS.contains(&name.as_str()) && !text[start..end].contains(char::is_lowercase);
    let certain = is_named(&text[..start], &text[end..]) || is_plain(&text[start..end]);
    (below && !framework && certain).then_some((start, end))
}

/// Whether no e-mail address, path, call or identifier goes on around it.
fn is_free(head: &str, tail: &str) -> bool {
    let path = head.ends_with('/') && !head.ends_with("//");
    let bound = path || head.ends_with(['@', '_', '$', '#', '\\', '%']);
    let user = head.ends_with('@') && in_url(head);
    let near = &tail[..tail.floor_char_boundary(LONGEST_LOCAL + 1)];
    let local = near.trim_start_matches(|c| label_char(c) || is_local(c) && c != '@');
    let address = tail.starts_with(is_local) && local.starts_with('@');
    let code = tail.starts_with(['_', '(', '[', '$', '\\']);
    (!bound || user) && !address && !code
}

/// "https://user:password@example.com"
fn in_url(head: &str) -> bool {
    const REACH: usize = 128;
    let near = &head[head.floor_char_boundary(head.len().saturating_sub(REACH))..];
    let word = near.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.rsplit_once("://")
        .is_some_and(|(_, authority)| !authority.contains(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text =
            "Сайт www.example.co.uk, https://u:p@lk.example.ru:8080/a.html и мой-магазин.рф.";
        let hosts = ["www.example.co.uk", "lk.example.ru", "мой-магазин.рф"];
        assert_eq!(found(&Domain, text), hosts);
        let text = "xn--e1afmkfd.xn--p1ai/path, *.example.com, host=db.example.io";
        let hosts = ["xn--e1afmkfd.xn--p1ai", "example.com", "db.example.io"];
        assert_eq!(found(&Domain, text), hosts);
    }

    #[test]
    fn near_misses() {
        for text in [
            "main.rs report.py README.md libfoo.so data.tar.gz",
            "ivan.me+tag@example.com",
            "user.name self.id os.path ASP.NET",
            "Да.Нет и т.д. 10.0.0.1 v1.2.3 co.uk",
            "org.example.app a.com()",
        ] {
            assert!(found(&Domain, text).is_empty(), "{text}");
        }
    }
}

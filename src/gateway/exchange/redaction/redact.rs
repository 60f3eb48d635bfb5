//! Redacts a prompt (CONTRACT 41, `redact_upstream`): the findings in its scanned text give way to
//! placeholders. Only the bytes of a finding change. The values never reach a log line, an error or a metric.

use super::placeholders::{Issuer, Placeholders, candidates};
use crate::gateway::inspector::{Find, Inspector};
use monitor_model::PatternSet;
use monitor_wire::json::{self, Edit, Form, PromptLiteral};
use std::collections::HashSet;
use std::ops::Range;

/// The longest text in a body that is compared with placeholders; the issued ones are shorter.
const LONGEST_PLACEHOLDER: usize = 64;

/// The detectors of a policy.
pub(crate) struct Redactor<'a> {
    pub(crate) inspector: &'a dyn Inspector,
    pub(crate) patterns: PatternSet,
}

/// A redacted prompt: the edits of the body in ascending order, and the values they remove.
pub(crate) struct Redacted {
    pub(crate) edits: Vec<Edit<Vec<u8>>>,
    pub(crate) placeholders: Placeholders,
}

/// The strings of one message, put together.
struct MessageText {
    text: String,
    literals: Vec<Literal>,
    /// Where a line feed stands between two of them.
    breaks: Vec<usize>,
}

/// The findings in one message.
struct MessageFindings {
    text: String,
    literals: Vec<Literal>,
    /// Types and places in the text, ascending.
    findings: Vec<(&'static str, Range<usize>)>,
}

/// A value of the body: one part of a message.
struct Literal {
    /// Where it stands in the body, with its quotes.
    span: Range<usize>,
    /// Which part of the message's text it is.
    part: Range<usize>,
    form: Form,
}

impl Redactor<'_> {
    /// Redacts the strings of a body, those of one message behind each other; None without a finding. A finding that
    /// reaches over several parts of a message is replaced in the first one and removed from the others.
    pub(crate) fn redact(&self, body: &[u8], literals: &[PromptLiteral]) -> Option<Redacted> {
        let messages = literals.chunk_by(|_, next| !next.is_first);
        let found: Vec<MessageFindings> = messages
            .filter_map(|message| self.inspect(body, message))
            .collect();
        if found.is_empty() {
            return None;
        }
        let mut issuer = Issuer::new(reserved(body, &found));
        let mut edits = Vec::new();
        for message in found {
            message.edit(body, &mut issuer, &mut edits);
        }
        edits.sort_by_key(|(span, _)| span.start);
        Some(Redacted {
            edits,
            placeholders: issuer.finish(),
        })
    }

    /// Whether every message is short enough, for the number of its parts, to be looked at everywhere.
    pub(crate) fn reads_whole(&self, body: &[u8], literals: &[PromptLiteral]) -> bool {
        let mut messages = literals.chunk_by(|_, next| !next.is_first);
        messages.all(|message| {
            let text = MessageText::read(body, message);
            text.is_none_or(|read| self.inspector.finds_across(&read.text, &read.breaks))
        })
    }

    fn inspect(&self, body: &[u8], message: &[PromptLiteral]) -> Option<MessageFindings> {
        let MessageText {
            text,
            literals,
            breaks,
        } = MessageText::read(body, message)?;
        let finds = self.inspector.find(&text, &breaks, self.patterns);
        // A slice inside a character would panic, and its message would quote the text.
        let whole = |find: Find| {
            let span = text.floor_char_boundary(find.start)..text.ceil_char_boundary(find.end);
            (find.kind, span)
        };
        let findings: Vec<_> = finds
            .into_iter()
            .map(whole)
            .flat_map(|(kind, span)| self.whole_in_a_part(&text, &literals, kind, span))
            .collect();
        (!findings.is_empty()).then_some(MessageFindings {
            text,
            literals,
            findings,
        })
    }

    /// A value that is whole in one part takes nothing of the next, where a word stands that would go on with it: the
    /// command "ls" behind a text that ends with an address. Values with blanks in them are taken as they were found.
    fn whole_in_a_part(
        &self,
        text: &str,
        literals: &[Literal],
        kind: &'static str,
        span: Range<usize>,
    ) -> Vec<(&'static str, Range<usize>)> {
        let first = literals.partition_point(|literal| literal.part.end <= span.start);
        let parts = literals[first..].iter().map(|literal| &literal.part);
        let pieces: Vec<_> = parts
            .take_while(|part| part.start < span.end)
            .map(|part| part.start.max(span.start)..part.end.min(span.end))
            .filter(|piece| !piece.is_empty())
            .collect();
        let has_blank = |piece: &Range<usize>| text[piece.clone()].contains(char::is_whitespace);
        if pieces.len() < 2 || pieces.iter().any(has_blank) {
            return vec![(kind, span)];
        }
        let is_whole = |piece: &Range<usize>| {
            let finds = self
                .inspector
                .find(&text[piece.clone()], &[], self.patterns);
            let is_all =
                |find: Find| find.kind == kind && (find.start, find.end) == (0, piece.len());
            finds.into_iter().any(is_all)
        };
        // What stands before a value may be its beginning, and digits behind it the rest of a number.
        let has_digits = |piece: &Range<usize>| text[piece.clone()].contains(char::is_numeric);
        let may_go_on = |piece: &Range<usize>| has_digits(piece) && !is_whole(piece);
        if !is_whole(&pieces[0]) || pieces[1..].iter().any(may_go_on) {
            return vec![(kind, span)];
        }
        let whole = pieces.into_iter().filter(is_whole);
        whole.map(|piece| (kind, piece)).collect()
    }
}

impl MessageText {
    fn read(body: &[u8], message: &[PromptLiteral]) -> Option<Self> {
        let (mut text, mut literals, mut breaks) = (String::new(), Vec::new(), Vec::new());
        for literal in message {
            if !literals.is_empty() {
                breaks.push(text.len());
                text.push('\n');
            }
            text.push_str(&literal.label(body));
            let start = text.len();
            text.push_str(&literal.form.text(body.get(literal.span.clone())?));
            literals.push(Literal {
                span: literal.span.clone(),
                part: start..text.len(),
                form: literal.form,
            });
        }
        Some(Self {
            text,
            literals,
            breaks,
        })
    }
}

impl MessageFindings {
    fn edit(&self, body: &[u8], issuer: &mut Issuer, edits: &mut Vec<Edit<Vec<u8>>>) {
        let mut findings = self.findings.as_slice();
        for (at, literal) in self.literals.iter().enumerate() {
            let Literal {
                span: literal,
                part,
                form,
            } = literal;
            let mut replaced = Vec::new();
            while let Some(((kind, span), rest)) = findings.split_first() {
                let within = span.start.max(part.start)..span.end.min(part.end);
                if within.start < within.end {
                    let within = within.start - part.start..within.end - part.start;
                    let with = match span.start >= part.start {
                        true => {
                            let placeholder = issuer.issue(kind, &self.value(at, span));
                            in_literal(placeholder, *form).to_owned()
                        }
                        false => String::new(),
                    };
                    replaced.push((within, with));
                }
                if span.end > part.end {
                    break;
                }
                findings = rest;
            }
            if replaced.is_empty() {
                continue;
            }
            let raw = json::replace_text(*form, &body[literal.clone()], &replaced);
            let place = |raw: Range<usize>| literal.start + raw.start..literal.start + raw.end;
            edits.extend(raw.into_iter().map(|(raw, with)| (place(raw), with)));
        }
    }

    /// A finding that begins in the literal `at`, as it reads without what stands between the parts.
    fn value(&self, at: usize, span: &Range<usize>) -> String {
        let within = |literal: &Literal| {
            let part = &literal.part;
            self.text
                .get(span.start.max(part.start)..span.end.min(part.end))
        };
        let literals = self.literals[at..].iter();
        literals
            .take_while(|literal| literal.part.start < span.end)
            .filter_map(within)
            .collect()
    }
}

/// A name may hold letters, digits, `_` and `-` only: many model servers refuse others.
fn in_literal(placeholder: &str, form: Form) -> &str {
    match form {
        Form::Name => placeholder.trim_matches(['[', ']']),
        Form::Text | Form::Number | Form::Arguments => placeholder,
    }
}

/// The texts in the body that have the form of a placeholder of a found type.
fn reserved(body: &[u8], found: &[MessageFindings]) -> HashSet<String> {
    let kinds: HashSet<&str> = found
        .iter()
        .flat_map(|found| found.findings.iter().map(|(kind, _)| *kind))
        .collect();
    let mut reserved = HashSet::new();
    json::each_literal(body, |token| {
        let text = json::unescape(token);
        for span in candidates(&text, LONGEST_PLACEHOLDER) {
            let inside = &text[span.start + 1..span.end - 1];
            if inside
                .rsplit_once('_')
                .is_some_and(|(kind, _)| kinds.contains(kind))
            {
                reserved.insert(text[span].to_owned());
            }
        }
    });
    reserved
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use monitor_wire::json::{Request, RequestShape, replace_spans, scan};

    /// Finds every `<…>`, as an IP where a digit follows the bracket.
    struct Brackets;

    impl Inspector for Brackets {
        fn find(&self, text: &str, breaks: &[usize], _: PatternSet) -> Vec<Find> {
            // One that reaches over a part is found only where the break is known.
            let is_whole = |find: &Find| {
                let places = find.start..find.end;
                let mut lines = text[places.clone()].match_indices('\n');
                lines.all(|(at, _)| breaks.contains(&(places.start + at)))
            };
            let starts = text.match_indices('<').map(|(start, _)| start);
            let find = |start: usize| {
                let end = start + text[start..].find('>')? + 1;
                let digit = text[start + 1..].starts_with(|c: char| c.is_ascii_digit());
                let kind = if digit { "IP" } else { "EMAILS" };
                Some(Find { start, end, kind })
            };
            starts.filter_map(find).filter(is_whole).collect()
        }

        fn finds_across(&self, _: &str, _: &[usize]) -> bool {
            true
        }

        fn stable_until(&self, text: &str, _: PatternSet) -> usize {
            text.len()
        }
    }

    fn redacted(body: &str) -> Option<String> {
        let found = scan(body.as_bytes()).unwrap();
        let literals =
            Request::read(&RequestShape::CHAT, body.as_bytes(), &found).prompt_literals(&[]);
        let redactor = Redactor {
            inspector: &Brackets,
            patterns: PatternSet::local(),
        };
        let redacted = redactor.redact(body.as_bytes(), &literals)?;
        let changed = replace_spans(body.as_bytes(), &redacted.edits);
        Some(String::from_utf8(changed).unwrap())
    }

    #[test]
    fn only_the_bytes_of_a_finding_change() {
        let table: &[(&str, &str)] = &[
            (
                r#"{ "n":1e400,"messages" :[{"role":"user","content":"a <x> <1> <x>\n"}]} "#,
                r#"{ "n":1e400,"messages" :[{"role":"user","content":"a [EMAILS_1] [IP_1] [EMAILS_1]\n"}]} "#,
            ),
            (
                r#"{"messages":[{"role":"user","content":"\ud83d\ude00\u003cx\u0040\/\"\u003e\u00e9"}]}"#,
                r#"{"messages":[{"role":"user","content":"\ud83d\ude00[EMAILS_1]\u00e9"}]}"#,
            ),
            (
                r#"{"messages":[{"role":"user","content":"<x>"}],"messages":[{"role":"user","content":[{"type":"text","text":"<y><x>"}]}]}"#,
                r#"{"messages":[{"role":"user","content":"[EMAILS_1]"}],"messages":[{"role":"user","content":[{"type":"text","text":"[EMAILS_2][EMAILS_1]"}]}]}"#,
            ),
            (
                r#"{"messages":[{"role":"system","content":"<s> [EMAILS_2]"},{"role":"user","content":"<x> <y>"}],"\u005bEMAILS_1]":0}"#,
                r#"{"messages":[{"role":"system","content":"<s> [EMAILS_2]"},{"role":"user","content":"[EMAILS_3] [EMAILS_4]"}],"\u005bEMAILS_1]":0}"#,
            ),
        ];
        for (body, expected) in table {
            assert_eq!(redacted(body).as_deref(), Some(*expected));
        }
        let split = r#"{"messages":[{"role":"user","content":["a <\u0078","",{"type":"text","text":"y> <z> b"},"<x","y>"]}]}"#;
        let expected = r#"{"messages":[{"role":"user","content":["a [EMAILS_1]","",{"type":"text","text":" [EMAILS_2] b"},"[EMAILS_1]",""]}]}"#;
        assert_eq!(redacted(split).as_deref(), Some(expected));
        // The names are read behind the texts, and stay such as model servers take.
        let named = r#"{"messages":[{"role":"user","name":"a-<1>","content":[{"x":"<y>","text":"<x"},"y>"]}]}"#;
        let expected = r#"{"messages":[{"role":"user","name":"a-IP_1","content":[{"x":"[EMAILS_2]","text":"[EMAILS_1]"},""]}]}"#;
        assert_eq!(redacted(named).as_deref(), Some(expected));
        assert_eq!(
            redacted(
                r#"{"messages":[{"role":"system","content":"<x>"},{"role":"user","content":"a"}]}"#
            ),
            None
        );
        assert_eq!(redacted("[]"), None);
    }
}

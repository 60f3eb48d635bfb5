//! The members at the top level of a body (CONTRACT 1): one strict pass that records spans. It builds no
//! tree; `chat`, `answer` and `envelope` interpret the members.

mod check;
pub(super) mod notes;

pub use check::{SyntaxError, SyntaxKind};

use crate::json::kind::Kind;
use crate::json::name::{is_exactly, is_in_any_case};
use crate::json::view::View;
use check::Checker;
use notes::Notes;
use std::ops::Range;

/// Members whose spans are kept; those beyond are walked again when somebody asks, so that a body
/// of a million tiny members costs no more memory than its bytes.
const KEPT_MEMBERS: usize = 64;

/// One member of the top-level object, as byte spans of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name with its quotes.
    pub key: Range<usize>,
    /// The value without the white space around it.
    pub value: Range<usize>,
    /// What the value is.
    pub kind: Kind,
    /// What reading its texts costs beside its bytes, in bytes of one long text that costs as much. Of a member whose
    /// span was not kept, that is not known.
    pub cost: usize,
}

/// The outcome of [`scan`]. Its spans belong to the body that was scanned.
#[derive(Clone, Debug)]
pub struct Scan {
    kind: Kind,
    members: Vec<Member>,
    /// Where the first member stands whose span was not kept.
    unkept: Option<usize>,
    notes: Notes,
    unkept_cost: usize,
}

impl Scan {
    /// Whether the body is an object.
    pub fn is_object(&self) -> bool {
        self.kind == Kind::Object
    }

    /// What the body is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The top-level members in the order of the body, duplicates included; none for anything but
    /// an object. `body` is the scanned one.
    pub fn members<'a>(&'a self, body: &'a [u8]) -> impl Iterator<Item = Member> + 'a {
        let unkept = self.unkept.into_iter().flat_map(move |at| {
            self.view(body, 0..body.len())
                .members_from(at)
                .map(|(key, value)| Member {
                    kind: View::new(body, value.clone()).kind(),
                    key,
                    value,
                    cost: 0,
                })
        });
        self.members.iter().cloned().chain(unkept)
    }

    /// The top-level members whose decoded name is `name`: an escaped spelling of it counts.
    pub fn members_named<'a>(
        &'a self,
        body: &'a [u8],
        name: &'a str,
    ) -> impl Iterator<Item = Member> + 'a {
        self.members_whose_name(body, move |token| is_exactly(token, name))
    }

    /// The top-level members that some reader takes for `name`, which is lower-case ASCII.
    pub fn members_in_any_case<'a>(
        &'a self,
        body: &'a [u8],
        name: &'a str,
    ) -> impl Iterator<Item = Member> + 'a {
        self.members_whose_name(body, move |token| is_in_any_case(token, name))
    }

    /// What reading the texts of the members costs that some reader takes for `name`, as far as their spans were kept.
    pub(super) fn kept_costs<'a>(
        &'a self,
        body: &'a [u8],
        name: &'a str,
    ) -> impl Iterator<Item = usize> + 'a {
        let key = |member: &Member| body.get(member.key.clone()).unwrap_or_default();
        let named = self.members.iter();
        let named = named.filter(move |member| is_in_any_case(key(member), name));
        named.map(|member| member.cost)
    }

    /// What reading the texts costs of members whose span was not kept.
    pub(super) fn unkept_cost(&self) -> usize {
        self.unkept_cost
    }

    /// The value at `span` of `body`, which is the scanned one.
    pub(crate) fn view<'a>(&'a self, body: &'a [u8], span: Range<usize>) -> View<'a> {
        View::of_scanned(body, span, &self.notes)
    }

    /// The value that `body` is, which is the scanned one.
    pub(crate) fn root<'a>(&'a self, body: &'a [u8]) -> View<'a> {
        self.view(body, 0..body.len()).trimmed()
    }

    fn members_whose_name<'a>(
        &'a self,
        body: &'a [u8],
        matches: impl Fn(&[u8]) -> bool + 'a,
    ) -> impl Iterator<Item = Member> + 'a {
        self.members(body)
            .filter(move |member| body.get(member.key.clone()).is_some_and(&matches))
    }

    fn keep(&mut self, member: Member) {
        if self.members.len() < KEPT_MEMBERS {
            self.members.push(member);
        } else {
            self.unkept.get_or_insert(member.key.start);
            self.unkept_cost = self.unkept_cost.saturating_add(member.cost);
        }
    }
}

/// Checks that `body` is one JSON value (RFC 8259) of any type, size and depth in valid UTF-8, with
/// nothing but white space around it, and notes the members of a top-level object.
///
/// # Errors
/// The first place where it is not; a body that is not UTF-8 is reported as that first.
pub fn scan(body: &[u8]) -> Result<Scan, SyntaxError> {
    if let Err(error) = simdutf8::compat::from_utf8(body) {
        return Err(SyntaxError {
            offset: error.valid_up_to(),
            kind: SyntaxKind::NotUtf8,
        });
    }
    let mut checker = Checker::new(body);
    let mut found = match checker.peek_token() {
        Some(b'{') => object(&mut checker)?,
        _ => Scan {
            kind: checker.value()?,
            members: Vec::new(),
            unkept: None,
            notes: Notes::new(),
            unkept_cost: 0,
        },
    };
    match checker.peek_token() {
        None => {
            found.notes = checker.into_notebook().into_notes();
            Ok(found)
        }
        Some(_) => Err(checker.error(SyntaxKind::TrailingData)),
    }
}

/// Bytes of a value that is walked without notes.
const SHORT: usize = 1024;

/// The notes of a value that was checked before, for those who walk it without the scan of its body.
pub(crate) fn notes_of(value: &[u8]) -> Notes {
    let mut checker = Checker::new(value);
    match value.len() >= SHORT && checker.value().is_ok() {
        true => checker.into_notebook().into_notes(),
        false => Notes::new(),
    }
}

fn object(checker: &mut Checker<'_>) -> Result<Scan, SyntaxError> {
    let mut found = Scan {
        kind: Kind::Object,
        members: Vec::with_capacity(16),
        unkept: None,
        notes: Notes::new(),
        unkept_cost: 0,
    };
    checker.advance(1);
    if checker.peek_token() == Some(b'}') {
        checker.advance(1);
        return Ok(found);
    }
    loop {
        let key = checker.key()?;
        let _ = checker.peek_token();
        let (start, before) = (checker.at(), checker.cost());
        let kind = checker.value()?;
        found.keep(Member {
            key,
            value: start..checker.at(),
            kind,
            cost: checker.cost() - before,
        });
        match checker.peek_token() {
            Some(b',') => checker.advance(1),
            Some(b'}') => {
                checker.advance(1);
                return Ok(found);
            }
            _ => return Err(checker.error(SyntaxKind::ExpectedCommaOrBrace)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_spans_of_some_members_are_kept_and_the_others_are_found_again() {
        for count in [0, KEPT_MEMBERS, KEPT_MEMBERS + 2] {
            let body = format!("{{{}}}", vec![r#""a":1"#; count].join(","));
            let found = scan(body.as_bytes()).unwrap();
            assert!(found.is_object());
            assert_eq!(found.members.len(), count.min(KEPT_MEMBERS));
            assert_eq!(found.members(body.as_bytes()).count(), count);
        }
        assert!(!scan(b"[]").unwrap().is_object());
    }
}

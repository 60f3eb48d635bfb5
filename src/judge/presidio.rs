//! A Presidio analyzer over HTTP: `POST /analyze`, whose positions are code points. A table maps its entity
//! types to patterns; its finds compete with the engine's own, one winner per position.

use super::endpoint::{Endpoint, EndpointConfig, EndpointStatus, RemoteCheck, SetupError};
use super::fault::Fault;
use crate::config::PresidioSettings;
use crate::observe::{Metrics, RemoteLabel, RemoteOutcome};
use monitor_detect::dataclean::Strength;
use monitor_detect::{Compiled, PatternName, ProposedFinds, Span};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const PATH: &str = "/analyze";
/// Finds of one answer that are read.
const MOST_FINDS: usize = 100_000;

/// Patterns that its entity types map to, unless the configuration says otherwise. URL and DATE_TIME are left
/// out: they take whole addresses and words such as "today" for finds.
const TABLE: [(&str, PatternName); 18] = [
    ("PERSON", PatternName::Name),
    ("ORGANIZATION", PatternName::Company),
    ("ORG", PatternName::Company),
    ("LOCATION", PatternName::Address),
    ("ADDRESS", PatternName::Address),
    ("STREET_ADDRESS", PatternName::Address),
    ("EMAIL_ADDRESS", PatternName::Emails),
    ("PHONE_NUMBER", PatternName::PhoneNumber),
    ("CREDIT_CARD", PatternName::BankCardNumber),
    ("IP_ADDRESS", PatternName::Ip),
    ("JOB_TITLE", PatternName::JobRole),
    ("MEDICAL_CONDITION", PatternName::Diagnosis),
    ("US_PASSPORT", PatternName::PassportNumber),
    ("IN_PASSPORT", PatternName::PassportNumber),
    ("IT_PASSPORT", PatternName::PassportNumber),
    ("INN", PatternName::Inn),
    ("SNILS", PatternName::Snils),
    ("MONEY", PatternName::Money),
];

/// A Presidio analyzer and the patterns that its types map to.
pub struct Presidio {
    endpoint: Endpoint,
    settings: PresidioSettings,
    table: BTreeMap<String, PatternName>,
}

/// One `POST /analyze`.
struct Question<'a> {
    text: &'a str,
    language: &'a str,
    /// The types that map to a pattern of the rules.
    types: Vec<(&'a str, PatternName)>,
    min_score: f64,
}

#[derive(Deserialize)]
struct Find {
    entity_type: String,
    start: usize,
    end: usize,
    score: f64,
}

impl Presidio {
    /// An analyzer at its configured address.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, or the URL or key cannot be sent.
    pub fn new(settings: PresidioSettings, metrics: Arc<Metrics>) -> Result<Self, SetupError> {
        let reached = EndpointConfig {
            label: RemoteLabel::Presidio,
            base: &settings.url,
            path: PATH,
            api_key: None,
        };
        let mut table: BTreeMap<_, _> = TABLE.map(|(kind, name)| (kind.to_owned(), name)).into();
        for (kind, name) in &settings.entities {
            match name.as_ref().and_then(|name| name.parse().ok()) {
                Some(name) => table.insert(kind.clone(), name),
                None => table.remove(kind),
            };
        }
        Ok(Self {
            endpoint: Endpoint::new(&reached, settings.limits, metrics)?,
            table,
            settings,
        })
    }

    /// Whether the server counts as down, and how many calls it has.
    pub fn status(&self) -> EndpointStatus {
        self.endpoint.status()
    }

    /// Its findings of the patterns of the rules. Never fails: a failure is reported in the result.
    pub async fn propose(&self, text: &str, rules: &Compiled) -> ProposedFinds {
        let types: Vec<_> = self
            .table
            .iter()
            .filter(|(_, name)| rules.patterns().contains(name))
            .map(|(kind, name)| (kind.as_str(), *name))
            .collect();
        if types.is_empty() || text.trim().is_empty() {
            return ProposedFinds::default();
        }
        let most = usize::try_from(self.settings.max_text).unwrap_or(usize::MAX);
        let head = &text[..text.floor_char_boundary(most)];
        let question = Question {
            text: head,
            language: self.language(head),
            types,
            min_score: self.settings.min_score,
        };
        let asked = self.endpoint.ask(&question, self.endpoint.deadline()).await;
        let mut proposed = match asked {
            Ok(spans) => ProposedFinds {
                spans,
                ..ProposedFinds::default()
            },
            Err(fault) => failed(&fault.to_string()),
        };
        if head.len() < text.len() {
            let detail = format!("a text is sent up to {most} bytes (checks.presidio.max_text)");
            self.endpoint.came_to(RemoteOutcome::Cut, &detail);
            proposed.failures.extend(failed(&detail).failures);
        }
        proposed
    }

    fn language(&self, text: &str) -> &str {
        let cyrillic = |c: &char| matches!(c, '\u{400}'..='\u{4ff}');
        let other = self.settings.language_cyrillic.as_deref();
        let letters = |is: fn(&char) -> bool| text.chars().filter(is).count();
        match other {
            Some(other) if letters(cyrillic) > letters(char::is_ascii_alphabetic) => other,
            _ => &self.settings.language,
        }
    }
}

fn failed(why: &str) -> ProposedFinds {
    ProposedFinds {
        spans: Vec::new(),
        failures: vec![format!("the Presidio analyzer gave no verdict: {why}")],
    }
}

impl RemoteCheck for Question<'_> {
    type Found = Vec<Span>;

    fn request(&self) -> Value {
        let types: Vec<_> = self.types.iter().map(|(kind, _)| kind).collect();
        json!({
            "text": self.text,
            "language": self.language,
            "entities": types,
            "score_threshold": self.min_score,
        })
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<Span>, Fault> {
        let mut finds: Vec<Find> = serde_json::from_slice(answer)
            .map_err(|_| Fault::Nonsense("it is not a list of findings"))?;
        if finds.len() > MOST_FINDS {
            return Err(Fault::Nonsense("it has too many findings"));
        }
        finds.retain(|find| find.score >= self.min_score);
        let places = self.places(&finds)?;
        let spans = finds.iter().filter_map(|find| {
            let (_, kind) = self
                .types
                .iter()
                .find(|(kind, _)| *kind == find.entity_type)?;
            Some(Span {
                kind: *kind,
                start: places[&find.start],
                end: places[&find.end],
                strength: strength(*kind),
            })
        });
        Ok(spans.collect())
    }
}

impl Question<'_> {
    /// The byte of each code point at which a find begins or ends.
    fn places(&self, finds: &[Find]) -> Result<BTreeMap<usize, usize>, Fault> {
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for find in finds {
            if find.start >= find.end {
                return Err(Fault::Nonsense("a finding ends before it begins"));
            }
            places.insert(find.start, 0);
            places.insert(find.end, 0);
        }
        let ends = [(self.text.len(), '\0')];
        let mut points = self
            .text
            .char_indices()
            .chain(ends)
            .map(|(at, _)| at)
            .enumerate();
        for (point, byte) in &mut places {
            let found = points.find(|(at, _)| at == point);
            let found = found.ok_or(Fault::Nonsense("a finding lies beyond the text"))?;
            *byte = found.1;
        }
        Ok(places)
    }
}

/// Finds of a model give way to finds with a fixed form.
fn strength(kind: PatternName) -> Strength {
    use PatternName as P;
    match kind {
        P::Name | P::Company | P::Address | P::JobRole | P::Diagnosis => Strength::Reading,
        _ => Strength::Form,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question<'_> {
        Question {
            text,
            language: "en",
            types: vec![("PERSON", PatternName::Name)],
            min_score: 0.5,
        }
    }

    fn find(kind: &str, (start, end): (usize, usize), score: f64) -> Value {
        json!({"entity_type": kind, "start": start, "end": end, "score": score, "analysis_explanation": null})
    }

    #[test]
    fn places_are_code_points_and_types_that_nobody_asked_for_are_left_out() {
        let text = "Ёж и 👩 John";
        let answer = json!([
            find("PERSON", (7, 11), 0.85),
            find("PERSON", (0, 2), 0.5),
            find("PERSON", (0, 1), 0.4),
            find("NRP", (0, 2), 1.0)
        ]);
        let spans = question(text).read(answer.to_string().as_bytes()).unwrap();
        let found: Vec<_> = spans
            .iter()
            .map(|span| &text[span.start..span.end])
            .collect();
        assert_eq!(found, ["John", "Ёж"]);
    }

    #[test]
    fn what_is_no_list_of_finds_in_the_text_is_refused() {
        for answer in [
            json!({"error": "x"}),
            json!("safe"),
            json!([{"entity_type": "PERSON"}]),
            json!([find("PERSON", (2, 2), 1.0)]),
            json!([find("PERSON", (3, 2), 1.0)]),
            json!([find("PERSON", (0, 5), 1.0)]),
            json!([{"entity_type": "PERSON", "start": -1, "end": 2, "score": 1}]),
        ] {
            let read = question("John").read(answer.to_string().as_bytes());
            assert!(matches!(read, Err(Fault::Nonsense(_))), "{answer}");
        }
        assert!(question("John").read(b"[]").unwrap().is_empty());
    }
}

//! Rules that come with a request (§2.8, §4.4): reads `validation_config` and caches compiled rules, so
//! that a caller who sends the same rules each time has them compiled once, also where they are refused.

use super::compilation::Compilations;
use crate::analysis::error::{ApiError, FieldProblem};
use crate::analysis::rules::direction::{dataclean_fields, guardrails_fields, policies};
use crate::analysis::rules::document::{Object, Problems};
use crate::fair_queue::Claim;
use monitor_detect::{Compiled, Rules};
use monitor_model::{Stage, Warning, WarningCode};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled rules in the cache with what their searches keep, in bytes.
const CAPACITY_BYTES: usize = 64 << 20;
/// Compiled rules in the cache, by number.
const CAPACITY: usize = 256;
const INLINE: &str = "validation_config.inline";

/// A checked `validation_config` whose regexes are not compiled yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Validation {
    stage: Stage,
    rules: Rules,
    warnings: Vec<Warning>,
}

/// Compiled rules of a request.
pub(crate) struct InlineRules {
    pub(crate) rules: Arc<Compiled>,
    pub(crate) warnings: Vec<Warning>,
}

impl Validation {
    /// The rules that were stored with a record.
    pub(crate) fn stored(stage: Stage, rules: Rules) -> Self {
        Self {
            stage,
            rules,
            warnings: Vec::new(),
        }
    }

    /// Reads §2.8 `validation_config`. A missing section is off; a section that is there is on unless it
    /// says `enabled: false`. Unknown fields are ignored with a warning, and so are custom policies for a
    /// model's answer (§4.3).
    ///
    /// # Errors
    /// Everything that is wrong, also in sections that are off.
    pub(crate) fn read(value: Option<&Value>, stage: Stage) -> Result<Self, Vec<FieldProblem>> {
        let mut reader = ConfigReader::default();
        let rules = match value {
            Some(value) => reader.config(value),
            None => {
                reader.problems.add("validation_config", "missing");
                None
            }
        };
        let (problems, mut warnings) = (reader.problems, reader.warnings);
        let mut rules = rules.unwrap_or_default();
        if stage == Stage::PostCall && !rules.custom_policies.is_empty() {
            rules.custom_policies.clear();
            let message =
                format!("{INLINE}.custom: ignored, custom policies are for user messages only");
            warnings.push(Warning::new(WarningCode::PoliciesIgnored, message));
        }
        problems.or(Self {
            stage,
            rules,
            warnings,
        })
    }
}

impl InlineRules {
    /// The rules as JSON, for the record.
    pub(crate) fn document(&self) -> Value {
        // Strings, flags and finite numbers only: serialization cannot fail.
        serde_json::to_value(self.rules.rules()).unwrap_or_default()
    }
}

/// Reads `validation_config`: wrong fields become problems, unknown ones warnings.
#[derive(Default)]
struct ConfigReader {
    problems: Problems,
    warnings: Vec<Warning>,
}

impl ConfigReader {
    fn config(&mut self, value: &Value) -> Option<Rules> {
        let fields = Object::read("validation_config", value, &mut self.problems)?;
        self.warn_unknown(&fields, &["source", "inline"]);
        match fields.get("source") {
            Some(Value::String(source)) if source.eq_ignore_ascii_case("inline") => {}
            Some(_) => self.problems.add(fields.path("source"), "allowed: inline"),
            None => {
                let problem = "missing; allowed: inline";
                self.problems.add(fields.path("source"), problem);
            }
        }
        if fields.get("inline").is_none() {
            self.problems.add(INLINE, "missing");
        }
        let inline = fields.object("inline", &mut self.problems)?;
        self.warn_unknown(&inline, &["dataclean", "guardrails", "custom"]);
        Some(self.sections(&inline))
    }

    fn sections(&mut self, inline: &Object<'_>) -> Rules {
        let mut rules = Rules {
            dataclean: None,
            ..Rules::default()
        };
        if let Some(fields) = inline.object("dataclean", &mut self.problems) {
            let known = [
                "enabled",
                "patterns",
                "allowed_patterns",
                "clean_type",
                "mask_style",
            ];
            self.warn_unknown(&fields, &known);
            let dataclean = dataclean_fields(&fields, &mut self.problems);
            rules.dataclean = self.enabled(&fields).then_some(dataclean);
        }
        if let Some(fields) = inline.object("guardrails", &mut self.problems) {
            self.warn_unknown(&fields, &["enabled", "categories", "disabled"]);
            let guardrails = guardrails_fields(&fields, &mut self.problems);
            rules.guardrails = self.enabled(&fields).then_some(guardrails);
        }
        if let Some(fields) = inline.object("custom", &mut self.problems) {
            self.warn_unknown(&fields, &["enabled", "policies"]);
            let policies = policies(&fields, "policies", &mut self.problems);
            if self.enabled(&fields) {
                rules.custom_policies = policies;
            }
        }
        rules
    }

    fn enabled(&mut self, section: &Object<'_>) -> bool {
        section.flag("enabled", true, &mut self.problems)
    }

    fn warn_unknown(&mut self, fields: &Object<'_>, known: &[&str]) {
        let unknown = fields.unknown(known).into_iter().take(MOST_WARNINGS);
        let warning = |path| {
            let message = format!("{path}: not known, ignored");
            Warning::new(WarningCode::UnknownField, message)
        };
        self.warnings.extend(unknown.map(warning));
    }
}

/// Unknown fields of one section that cause a warning.
const MOST_WARNINGS: usize = 10;

/// The latest compiled rules.
pub(crate) struct InlineRulesCache {
    compilations: Arc<Compilations>,
    latest_first: Mutex<Vec<Entry>>,
}

struct Entry {
    hash: [u8; 32],
    outcome: Outcome,
}

/// Compiled rules, or every regex that cannot be used.
type Outcome = Result<Arc<Compiled>, Vec<FieldProblem>>;

impl Entry {
    fn weight(&self) -> usize {
        match &self.outcome {
            Ok(rules) => rules.weight(),
            Err(problems) => problems
                .iter()
                .map(|problem| problem.field.len() + problem.problem.len())
                .sum(),
        }
    }
}

impl InlineRulesCache {
    pub(crate) fn new(compilations: Arc<Compilations>) -> Self {
        Self {
            compilations,
            latest_first: Mutex::default(),
        }
    }

    /// Compiles rules when it is the tenant's turn, unless they are cached.
    ///
    /// # Errors
    /// [`ApiError::Fields`] with every regex that cannot be used; [`ApiError::RulesBusy`].
    pub(crate) async fn compile(
        &self,
        validation: Validation,
        claim: Claim,
    ) -> Result<InlineRules, ApiError> {
        let Validation {
            stage,
            rules,
            warnings,
        } = validation;
        let hash = hash(stage, &rules);
        let outcome = match self.take(&hash) {
            Some(outcome) => outcome,
            None => self.compile_once(stage, rules, hash, claim).await?,
        };
        let rules = outcome.map_err(ApiError::Fields)?;
        Ok(InlineRules { rules, warnings })
    }

    /// Of a tenant's calls with the same rules, the first one compiles them.
    async fn compile_once(
        &self,
        stage: Stage,
        rules: Rules,
        hash: [u8; 32],
        claim: Claim,
    ) -> Result<Outcome, ApiError> {
        if rules.regexes() == 0 {
            let outcome = Ok(Arc::new(Compiled::of(stage, rules)));
            self.keep(hash, outcome.clone());
            return Ok(outcome);
        }
        let compilation = self.compilations.of(claim, &hash).await?;
        if let Some(outcome) = self.take(&hash) {
            return Ok(outcome);
        }
        let compiled = compilation.run(move || Compiled::of(stage, rules)).await?;
        let mut problems = Problems::default();
        for failure in compiled.failures() {
            let field = format!("{INLINE}.dataclean.{}", failure.place);
            problems.add(field, &*failure.reason);
        }
        let is_cut_short = compiled.is_cut_short();
        let outcome = problems.or(Arc::new(compiled));
        // What time decided may end in another way when it is tried again.
        if !is_cut_short {
            self.keep(hash, outcome.clone());
        }
        Ok(outcome)
    }

    fn take(&self, hash: &[u8; 32]) -> Option<Outcome> {
        let mut entries = self
            .latest_first
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let at = entries.iter().position(|entry| entry.hash == *hash)?;
        entries[..=at].rotate_right(1);
        let outcome = entries[0].outcome.clone();
        // What they take grows with their use.
        evict(&mut entries);
        Some(outcome)
    }

    fn keep(&self, hash: [u8; 32], outcome: Outcome) {
        let mut entries = self
            .latest_first
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.hash != hash);
        entries.insert(0, Entry { hash, outcome });
        evict(&mut entries);
    }
}

fn evict(entries: &mut Vec<Entry>) {
    let mut bytes = 0;
    let fits = |entry: &Entry| {
        bytes += entry.weight();
        bytes <= CAPACITY_BYTES
    };
    let count = entries.iter().map(fits).take_while(|fits| *fits).count();
    entries.truncate(count.clamp(1, CAPACITY));
}

fn hash(stage: Stage, rules: &Rules) -> [u8; 32] {
    // As in `InlineRules::document`.
    Sha256::digest(serde_json::to_vec(&(stage, rules)).unwrap_or_default()).into()
}

#[cfg(test)]
mod tests;

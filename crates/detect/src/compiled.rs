//! Rules compiled for use: each regex once, for all messages that the rules apply to. A regex that does
//! not compile is kept as a failure of the stage; whether to refuse the rules is up to the caller.

use super::dataclean::PatternName;
use super::dataclean::custom::{self, CustomRegex, LARGEST_COMPILED};
use super::guardrails::{Category, CategoryThreshold, DEFAULT_THRESHOLD};
use super::rules::{CustomPattern, DatacleanRules, GuardrailsRules, Pattern, Rules};
use monitor_model::Stage;
use regex::Regex;

/// The most all regexes of one direction may take compiled, in bytes.
pub const LARGEST_TOGETHER: usize = 3 * LARGEST_COMPILED;

/// The rules of one direction, ready for use.
#[derive(Clone, Debug)]
pub struct Compiled {
    rules: Rules,
    patterns: Vec<PatternName>,
    custom: Vec<CustomRegex>,
    allowed: Vec<Regex>,
    guardrails: Vec<CategoryThreshold>,
    failures: Vec<PatternFailure>,
    weight: usize,
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternFailure {
    /// Where it stands in the dataclean section, such as `patterns[3].regex`.
    pub place: String,
    /// The name the application gave it.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Compiled {
    /// Makes the rules of user messages ready. A regex takes up to tens of milliseconds.
    pub fn new(rules: Rules) -> Self {
        Self::of(Stage::PreCall, rules)
    }

    /// Makes the rules of one direction ready.
    pub fn of(stage: Stage, rules: Rules) -> Self {
        let asked = rules.guardrails.as_ref();
        let mut compiled = Self {
            patterns: Vec::new(),
            custom: Vec::new(),
            allowed: Vec::new(),
            guardrails: asked
                .map(|asked| categories(stage, asked))
                .unwrap_or_default(),
            failures: Vec::new(),
            weight: 0,
            rules,
        };
        if let Some(dataclean) = compiled.rules.dataclean.clone() {
            compiled.add(&dataclean);
        }
        compiled
    }

    /// The rules as they were given.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The patterns that cannot be used.
    pub fn failures(&self) -> &[PatternFailure] {
        &self.failures
    }

    /// An upper bound of what its regexes take, in bytes.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Whether it has regexes of its own.
    pub fn has_regexes(&self) -> bool {
        self.weight > 0
    }

    /// Whether an entity type is among those it looks for.
    pub fn looks_for(&self, kind: &str) -> bool {
        let mut names = self.patterns.iter().map(|name| name.as_str());
        names.any(|name| name == kind) || self.custom.iter().any(|custom| custom.name == kind)
    }

    /// The predefined patterns to look for, each once.
    pub fn patterns(&self) -> &[PatternName] {
        &self.patterns
    }

    /// The guardrail categories to look for, each with the score from which it is flagged.
    pub fn guardrails(&self) -> &[CategoryThreshold] {
        &self.guardrails
    }

    pub(super) fn custom(&self) -> &[CustomRegex] {
        &self.custom
    }

    /// Whether a find is one of the exceptions.
    pub(super) fn allows(&self, find: &str) -> bool {
        self.allowed.iter().any(|regex| regex.is_match(find))
    }

    /// Whether there are any exceptions.
    pub(super) fn has_exceptions(&self) -> bool {
        !self.allowed.is_empty()
    }

    fn add(&mut self, rules: &DatacleanRules) {
        let Some(patterns) = &rules.patterns else {
            self.patterns = PatternName::all().collect();
            return self.add_exceptions(&rules.allowed_patterns);
        };
        for (index, pattern) in patterns.iter().enumerate() {
            match pattern {
                Pattern::Predefined(name) if self.patterns.contains(name) => {}
                Pattern::Predefined(name) => self.patterns.push(*name),
                Pattern::Custom(pattern) => {
                    let built = CustomRegex::new(pattern).map(|regex| (regex.weight, regex));
                    let place = format!("patterns[{index}].regex");
                    if let Some(regex) = self.weigh(place, pattern, built) {
                        self.custom.push(regex);
                    }
                }
            }
        }
        self.add_exceptions(&rules.allowed_patterns);
    }

    fn add_exceptions(&mut self, patterns: &[CustomPattern]) {
        for (index, pattern) in patterns.iter().enumerate() {
            let built = custom::whole(pattern).map(|(regex, weight)| (weight, regex));
            let place = format!("allowed_patterns[{index}].regex");
            if let Some(regex) = self.weigh(place, pattern, built) {
                self.allowed.push(regex);
            }
        }
    }

    fn weigh<T>(
        &mut self,
        place: String,
        pattern: &CustomPattern,
        built: Result<(usize, T), String>,
    ) -> Option<T> {
        let reason = match built {
            Ok((weight, regex)) if self.weight + weight <= LARGEST_TOGETHER => {
                self.weight += weight;
                return Some(regex);
            }
            Ok(_) => format!(
                "is larger than {LARGEST_TOGETHER} bytes when compiled, with the regexes before it"
            ),
            Err(reason) => reason,
        };
        self.failures.push(PatternFailure {
            place,
            name: pattern.name.clone(),
            reason,
        });
        None
    }
}

/// A name that is stored and no longer known is passed over.
fn categories(stage: Stage, asked: &GuardrailsRules) -> Vec<CategoryThreshold> {
    let is_on = |category: &Category| !asked.disabled.iter().any(|name| name == category.as_str());
    let threshold = |category: Category| {
        let own = asked.categories.get(category.as_str());
        own.copied().unwrap_or(DEFAULT_THRESHOLD)
    };
    Category::of(stage)
        .filter(is_on)
        .map(|category| CategoryThreshold {
            category,
            threshold: threshold(category),
        })
        .collect()
}

impl From<Rules> for Compiled {
    fn from(rules: Rules) -> Self {
        Self::new(rules)
    }
}

//! Rules compiled for use: each regex once, for all messages that the rules apply to. A regex that does
//! not compile is kept as a failure of the stage; whether to refuse the rules is up to the caller.

use super::dataclean::PatternName;
use super::dataclean::custom::{self, CustomRegex};
use super::dataclean::pooled_regex::{LARGEST_COMPILED, PooledRegex, Refused, WorkingMemory};
use super::guardrails::{Category, CategoryThreshold, DEFAULT_THRESHOLD};
use super::rules::{CustomPattern, DatacleanRules, GuardrailsRules, Pattern, Rules};
use monitor_model::Stage;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most all regexes of one direction may take compiled, in bytes.
pub const LARGEST_TOGETHER: usize = 3 * LARGEST_COMPILED;
/// After this time no further regex of one direction is compiled. Usual ones take less than a millisecond each.
const LONGEST: Duration = Duration::from_secs(5);

/// The rules of one direction, ready for use.
#[derive(Clone, Debug)]
pub struct Compiled {
    rules: Rules,
    patterns: Vec<PatternName>,
    custom: Vec<CustomRegex>,
    allowed: Vec<PooledRegex>,
    guardrails: Vec<CategoryThreshold>,
    failures: Vec<PatternFailure>,
    /// What its regexes take compiled, in bytes.
    compiled_bytes: usize,
    memory: Arc<WorkingMemory>,
}

/// What compiling has taken, also of regexes that cannot be used.
struct Taken {
    bytes: usize,
    began: Instant,
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
            compiled_bytes: 0,
            memory: WorkingMemory::of(rules.regexes()),
            rules,
        };
        if let Some(dataclean) = compiled.rules.dataclean.clone() {
            let taken = Taken {
                bytes: 0,
                began: Instant::now(),
            };
            compiled.add(&dataclean, taken);
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

    /// What its regexes take now, in bytes: compiled, and what their searches keep.
    pub fn weight(&self) -> usize {
        self.compiled_bytes + self.memory.kept()
    }

    /// Whether it has regexes of its own.
    pub fn has_regexes(&self) -> bool {
        self.compiled_bytes > 0
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

    /// The exceptions: a find that one of them matches is none.
    pub(super) fn allowed(&self) -> &[PooledRegex] {
        &self.allowed
    }

    fn add(&mut self, rules: &DatacleanRules, mut taken: Taken) {
        let memory = self.memory.clone();
        let Some(patterns) = &rules.patterns else {
            self.patterns = PatternName::all().collect();
            return self.add_exceptions(&rules.allowed_patterns, taken);
        };
        for (index, pattern) in patterns.iter().enumerate() {
            match pattern {
                Pattern::Predefined(name) if self.patterns.contains(name) => {}
                Pattern::Predefined(name) => self.patterns.push(*name),
                Pattern::Custom(pattern) => {
                    let built = taken.compile(|| {
                        let regex = CustomRegex::new(pattern, &memory)?;
                        Ok((regex.compiled_bytes(), regex))
                    });
                    let regex = self.weigh(format!("patterns[{index}].regex"), pattern, built);
                    self.custom.extend(regex);
                }
            }
        }
        self.add_exceptions(&rules.allowed_patterns, taken);
    }

    fn add_exceptions(&mut self, patterns: &[CustomPattern], mut taken: Taken) {
        for (index, pattern) in patterns.iter().enumerate() {
            let built = taken.compile(|| {
                let regex = custom::whole(pattern, &self.memory)?;
                Ok((regex.compiled_bytes(), regex))
            });
            let place = format!("allowed_patterns[{index}].regex");
            let regex = self.weigh(place, pattern, built);
            self.allowed.extend(regex);
        }
    }

    fn weigh<T>(
        &mut self,
        place: String,
        pattern: &CustomPattern,
        built: Result<(usize, T), String>,
    ) -> Option<T> {
        let reason = match built {
            Ok((bytes, regex)) => {
                self.compiled_bytes += bytes;
                return Some(regex);
            }
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

impl Taken {
    /// Compiles a regex, and says how many bytes it takes, unless too much was compiled before it.
    fn compile<T>(
        &mut self,
        compile: impl FnOnce() -> Result<(usize, T), Refused>,
    ) -> Result<(usize, T), String> {
        if self.began.elapsed() > LONGEST {
            let longest = LONGEST.as_millis();
            return Err(format!(
                "is not compiled: the regexes before it took {longest} ms"
            ));
        }
        let together = "when compiled, with the regexes before it";
        let too_large = || format!("is larger than {LARGEST_TOGETHER} bytes {together}");
        if self.bytes >= LARGEST_TOGETHER {
            return Err(too_large());
        }
        let built = compile();
        self.bytes += match &built {
            Ok((bytes, _)) => *bytes,
            Err(refused) => refused.compiled,
        };
        match built {
            Ok(_) if self.bytes > LARGEST_TOGETHER => Err(too_large()),
            built => built.map_err(|refused| refused.reason),
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn regexes_that_are_refused_count_towards_what_is_compiled() {
        let pattern = |number| CustomPattern {
            name: format!("N{number}"),
            regex: format!(r"[\w@]{{400}}{number}"),
        };
        let dataclean = DatacleanRules {
            allowed_patterns: (0..100).map(pattern).collect(),
            ..DatacleanRules::default()
        };
        let compiled = Compiled::new(Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        });
        let reasons = compiled.failures().iter().map(|failure| &*failure.reason);
        let (tried, passed_over): (Vec<_>, Vec<_>) = { reasons }
            .partition(|reason| *reason == "is larger than 10485760 bytes when compiled");
        assert_eq!((tried.len(), passed_over.len()), (3, 97));
        for reason in passed_over {
            assert!(reason.ends_with("with the regexes before it"), "{reason}");
        }
        assert_eq!(compiled.weight(), 0);
    }
}

//! Rules compiled for use: each regex once, for all messages that the rules apply to. A regex that does
//! not compile is kept as a failure of the stage; whether to refuse the rules is up to the caller.

use super::dataclean::PatternName;
use super::dataclean::custom::{self, CustomRegex};
use super::dataclean::pooled_regex::{LARGEST_COMPILED, PooledRegex, Refused, WorkingMemory};
use super::guardrails::{Category, CategoryThreshold, DEFAULT_THRESHOLD};
use super::rules::{CustomPattern, DatacleanRules, GuardrailsRules, Pattern, Rules};
use monitor_model::Stage;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::time::Duration;

/// The most all regexes of one direction may take compiled, in counted bytes.
pub const LARGEST_TOGETHER: usize = 3 * LARGEST_COMPILED;
/// After this time of a processor no further regex of one direction is compiled. A usual one takes a millisecond.
const LONGEST: Duration = Duration::from_secs(5);

/// The rules of one direction, ready for use.
#[derive(Clone, Debug)]
pub struct Compiled {
    rules: Rules,
    patterns: Vec<PatternName>,
    unknown: Vec<String>,
    custom: Vec<CustomRegex>,
    allowed: Vec<PooledRegex>,
    guardrails: Vec<CategoryThreshold>,
    failures: Vec<PatternFailure>,
    /// What its regexes take compiled, in bytes.
    compiled_bytes: usize,
    memory: Arc<WorkingMemory>,
    is_cut_short: bool,
}

/// What compiling has taken, also of regexes that cannot be used.
struct Taken<'c> {
    /// As `PooledRegex::counted_bytes` counts them.
    bytes: usize,
    clock: &'c dyn Fn() -> Duration,
    began: Duration,
    is_over: bool,
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
        Self::within(stage, rules, &cpu_time)
    }

    /// `clock` gives the time that compiling has taken, and only ever goes forward.
    fn within(stage: Stage, rules: Rules, clock: &dyn Fn() -> Duration) -> Self {
        let asked = rules.guardrails.as_ref();
        let mut compiled = Self {
            patterns: Vec::new(),
            unknown: Vec::new(),
            custom: Vec::new(),
            allowed: Vec::new(),
            guardrails: asked
                .map(|asked| categories(stage, asked))
                .unwrap_or_default(),
            failures: Vec::new(),
            compiled_bytes: 0,
            memory: WorkingMemory::of(rules.regexes()),
            is_cut_short: false,
            rules,
        };
        if let Some(dataclean) = compiled.rules.dataclean.clone() {
            let mut taken = Taken {
                bytes: 0,
                clock,
                began: clock(),
                is_over: false,
            };
            compiled.add(&dataclean, &mut taken);
            compiled.is_cut_short = taken.is_over;
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

    /// Whether regexes were left out because those before them took too long: another time they may be compiled.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
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

    /// Names of patterns of a later version, which are not looked for.
    pub(super) fn unknown(&self) -> &[String] {
        &self.unknown
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

    fn add(&mut self, rules: &DatacleanRules, taken: &mut Taken<'_>) {
        let memory = self.memory.clone();
        let Some(patterns) = &rules.patterns else {
            self.patterns = PatternName::all().collect();
            return self.add_exceptions(&rules.allowed_patterns, taken);
        };
        for (index, pattern) in patterns.iter().enumerate() {
            match pattern {
                Pattern::Predefined(name) if self.patterns.contains(name) => {}
                Pattern::Predefined(name) => self.patterns.push(*name),
                Pattern::Unknown(name) => self.unknown.push(name.clone()),
                Pattern::Custom(pattern) => {
                    let compile = || CustomRegex::new(pattern, &memory);
                    let built = taken.compile(compile, CustomRegex::regex);
                    let place = format!("patterns[{index}].regex");
                    if let Some(custom) = self.usable(place, pattern, built) {
                        self.compiled_bytes += custom.regex().compiled_bytes();
                        self.custom.push(custom);
                    }
                }
            }
        }
        self.add_exceptions(&rules.allowed_patterns, taken);
    }

    fn add_exceptions(&mut self, patterns: &[CustomPattern], taken: &mut Taken<'_>) {
        for (index, pattern) in patterns.iter().enumerate() {
            let compile = || custom::whole(pattern, &self.memory);
            let built = taken.compile(compile, |regex| regex);
            let place = format!("allowed_patterns[{index}].regex");
            if let Some(regex) = self.usable(place, pattern, built) {
                self.compiled_bytes += regex.compiled_bytes();
                self.allowed.push(regex);
            }
        }
    }

    fn usable<T>(
        &mut self,
        place: String,
        pattern: &CustomPattern,
        built: Result<T, String>,
    ) -> Option<T> {
        let reason = match built {
            Ok(built) => return Some(built),
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

impl Taken<'_> {
    /// Compiles a regex, unless too much was compiled before it.
    fn compile<T>(
        &mut self,
        compile: impl FnOnce() -> Result<T, Refused>,
        regex: impl FnOnce(&T) -> &PooledRegex,
    ) -> Result<T, String> {
        if (self.clock)().saturating_sub(self.began) > LONGEST {
            self.is_over = true;
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
            Ok(built) => regex(built).counted_bytes(),
            Err(refused) => refused.counted,
        };
        match built {
            Ok(_) if self.bytes > LARGEST_TOGETHER => Err(too_large()),
            built => built.map_err(|refused| refused.reason),
        }
    }
}

/// The time that this thread has had a processor: one that waits, or is passed over, gets no regex refused.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
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

    fn with_allowed(regexes: impl Iterator<Item = String>) -> Rules {
        let pattern = |(number, regex)| CustomPattern {
            name: format!("N{number}"),
            regex,
        };
        let dataclean = DatacleanRules {
            allowed_patterns: regexes.enumerate().map(pattern).collect(),
            ..DatacleanRules::default()
        };
        Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        }
    }

    /// Before both automata of a regex were counted, these were accepted.
    #[test]
    fn three_large_regexes_are_accepted_though_each_takes_its_size_twice() {
        let patterns = (0..3).map(|number| CustomPattern {
            name: format!("N{number}"),
            regex: format!(r"\w{{195}}{number}"),
        });
        let compiled = Compiled::new(Rules {
            dataclean: Some(DatacleanRules {
                patterns: Some(patterns.map(Pattern::Custom).collect()),
                ..DatacleanRules::default()
            }),
            ..Rules::default()
        });
        assert_eq!(compiled.failures(), []);
        assert!(
            compiled.weight() > LARGEST_TOGETHER,
            "{}",
            compiled.weight()
        );
    }

    #[test]
    fn what_a_thread_waits_is_no_time_of_compiling() {
        let (before, begun) = (cpu_time(), std::time::Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        assert!(cpu_time() - before < begun.elapsed());
    }

    #[test]
    fn regexes_behind_long_work_are_left_out_and_the_rules_say_so() {
        let now = std::cell::Cell::new(Duration::ZERO);
        let clock = || now.replace(now.get() + LONGEST / 4);
        let rules = with_allowed((0..6).map(|number| format!("x{number}")));
        let compiled = Compiled::within(Stage::PreCall, rules.clone(), &clock);
        // The last one that begins in time is the fourth.
        assert_eq!((compiled.allowed.len(), compiled.failures.len()), (4, 2));
        assert!(compiled.is_cut_short());
        let again = Compiled::new(rules);
        assert!(again.failures().is_empty() && !again.is_cut_short());
    }

    #[test]
    fn regexes_that_are_refused_count_towards_what_is_compiled() {
        let rules = with_allowed((0..100).map(|number| format!(r"[\w@]{{400}}{number}")));
        let compiled = Compiled::new(rules);
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

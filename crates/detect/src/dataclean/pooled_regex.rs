//! A compiled regex, and the memory that its searches work in: the states of lazy automata, which grow with what is
//! searched. What is kept of it for the next search is bounded for all regexes of a set of rules together; a search
//! beyond that starts with memory of its own and returns it.

use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::{Input, Match};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most a regex may take compiled, in bytes, for each direction in which it is searched.
pub(crate) const LARGEST_COMPILED: usize = 10 << 20;
/// The most that the automaton of one direction may keep in one search, in bytes.
const LARGEST_AUTOMATON: usize = 1 << 20;
/// What the searches of a set of rules may keep, in bytes: for the set and for each of its regexes.
const KEPT_OF_RULES: usize = 2 << 20;
const KEPT_OF_A_REGEX: usize = 64 << 10;

/// Why a regex cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What is wrong, for whoever wrote it.
    pub(crate) reason: String,
    /// What was compiled before that was known, in bytes.
    pub(crate) compiled: usize,
}

/// What the regexes of a set of rules keep between searches.
#[derive(Debug, Default)]
pub(crate) struct WorkingMemory {
    kept: AtomicUsize,
    most: usize,
}

/// A regex with the memory of its earlier searches.
#[derive(Clone, Debug)]
pub(crate) struct PooledRegex {
    regex: Regex,
    idle: Arc<Mutex<Vec<Cache>>>,
    memory: Arc<WorkingMemory>,
}

/// Searches of one thread.
pub(crate) struct Searcher<'r> {
    pooled: &'r PooledRegex,
    cache: Option<Cache>,
}

impl WorkingMemory {
    /// For so many regexes.
    pub(crate) fn of(regexes: usize) -> Arc<Self> {
        Arc::new(Self {
            kept: AtomicUsize::new(0),
            most: KEPT_OF_RULES + regexes * KEPT_OF_A_REGEX,
        })
    }

    /// What is kept now, in bytes.
    pub(crate) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    fn keep(&self, bytes: usize) -> bool {
        let kept = |kept: usize| Some(kept + bytes).filter(|kept| *kept <= self.most);
        self.kept
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, kept)
            .is_ok()
    }

    fn take(&self, bytes: usize) {
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl PooledRegex {
    /// Compiles a regex.
    ///
    /// # Errors
    /// What is wrong with it, for whoever wrote it.
    pub(crate) fn new(pattern: &str, memory: &Arc<WorkingMemory>) -> Result<Self, Refused> {
        let config = Config::new()
            .nfa_size_limit(Some(LARGEST_COMPILED))
            .hybrid_cache_capacity(LARGEST_AUTOMATON);
        let built = Regex::builder().configure(config).build(pattern);
        Ok(Self {
            regex: built.map_err(|error| refused(&error))?,
            idle: Arc::default(),
            memory: memory.clone(),
        })
    }

    /// What it takes compiled, in bytes.
    pub(crate) fn compiled_bytes(&self) -> usize {
        self.regex.memory_usage()
    }

    /// Ready to search, with the memory of an earlier search where there is one.
    pub(crate) fn searcher(&self) -> Searcher<'_> {
        let idle = self.idle().pop();
        let cache = match idle {
            Some(cache) => {
                self.memory.take(bytes_of(&cache));
                cache
            }
            None => self.regex.create_cache(),
        };
        Searcher {
            pooled: self,
            cache: Some(cache),
        }
    }

    /// Whether it matches anywhere in a text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        self.searcher().find(&input).is_some()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Cache>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Searcher<'_> {
    /// The first match.
    pub(crate) fn find(&mut self, input: &Input<'_>) -> Option<Match> {
        let cache = self.cache.as_mut()?;
        self.pooled.regex.search_with(cache, input)
    }
}

impl Drop for Searcher<'_> {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.take()
            && self.pooled.memory.keep(bytes_of(&cache))
        {
            self.pooled.idle().push(cache);
        }
    }
}

fn bytes_of(cache: &Cache) -> usize {
    size_of::<Cache>() + cache.memory_usage()
}

fn refused(error: &BuildError) -> Refused {
    match error.syntax_error() {
        Some(error) => Refused::invalid(&error.to_string()),
        None => Refused::too_large(),
    }
}

impl Refused {
    /// The library shows the regex over several lines; what is wrong stands in the last one.
    pub(crate) fn invalid(error: &str) -> Self {
        let line = error.lines().last().unwrap_or_default();
        let line = line.strip_prefix("error: ").unwrap_or(line);
        Self {
            reason: format!("is not valid: {line}"),
            compiled: 0,
        }
    }

    pub(crate) fn too_large() -> Self {
        Self {
            reason: format!("is larger than {LARGEST_COMPILED} bytes when compiled"),
            compiled: LARGEST_COMPILED,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_searches_keep_is_bounded_for_all_regexes_together() {
        let memory = WorkingMemory::of(2);
        // The automaton of each grows with the text, to more than both may keep.
        let regexes = ["x", "y"].map(|end| {
            let pattern = format!("(?:[ab]*a[ab]{{36}}b){{2}}[ab]*{end}");
            PooledRegex::new(&pattern, &memory).unwrap()
        });
        let mut number = 1_u32;
        let mut letter = || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if number >> 31 == 0 { 'a' } else { 'b' }
        };
        let text: String = (0..16_000).map(|_| letter()).collect();
        let input = Input::new(&text);
        let mut largest = 0;
        for _ in 0..4 {
            let mut searchers: Vec<_> = regexes
                .iter()
                .cycle()
                .take(8)
                .map(PooledRegex::searcher)
                .collect();
            for searcher in &mut searchers {
                assert_eq!(searcher.find(&input), None);
                let used = searcher.cache.as_ref().map(bytes_of);
                largest = largest.max(used.unwrap());
            }
            assert!(8 * largest > memory.most, "they would keep more: {largest}");
            drop(searchers);
            let idle = regexes.iter().flat_map(|regex| {
                let idle = regex.idle();
                idle.iter().map(bytes_of).collect::<Vec<_>>()
            });
            assert_eq!(memory.kept(), idle.sum::<usize>());
            assert!(memory.kept() <= memory.most && memory.kept() > 0);
        }
    }
}

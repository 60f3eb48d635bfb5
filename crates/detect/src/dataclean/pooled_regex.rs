//! A compiled regex, and the memory that its searches work in: the states of lazy automata, which grow with what is
//! searched. What is kept of it for the next search is bounded for all regexes of a set of rules together; a search
//! beyond that starts with memory of its own and returns it.

use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::{Input, Match};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes that each of the two automata of a regex, one for each direction of a search, may take.
pub(crate) const LARGEST_COMPILED: usize = 10 << 20;
/// Bounds that are tried one after the other: a regex counts with no more than the first that suffices.
const SIZES: [usize; 3] = [64 << 10, 1 << 20, LARGEST_COMPILED];
/// The most that a third automaton takes, which speeds up searches from a fixed place, in bytes.
const LARGEST_ONE_PASS: usize = 64 << 10;
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
    /// What was compiled before that was known, in counted bytes.
    pub(crate) counted: usize,
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
    /// Each of its automata fits in so many bytes.
    size: usize,
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
        for size in SIZES {
            let config = Config::new()
                .nfa_size_limit(Some(size))
                .onepass_size_limit(Some(LARGEST_ONE_PASS))
                .hybrid_cache_capacity(LARGEST_AUTOMATON);
            match Regex::builder().configure(config).build(pattern) {
                Ok(regex) => {
                    return Ok(Self {
                        regex,
                        size,
                        idle: Arc::default(),
                        memory: memory.clone(),
                    });
                }
                Err(error) if error.size_limit().is_none() => return Err(refused(&error)),
                Err(_) => {}
            }
        }
        Err(Refused::too_large())
    }

    /// What it takes compiled, in bytes.
    pub(crate) fn compiled_bytes(&self) -> usize {
        self.regex.memory_usage()
    }

    /// What counts towards the bounds, in bytes: not both of its automata, so that rules stay accepted that were when
    /// only one was counted.
    pub(crate) fn counted_bytes(&self) -> usize {
        self.size.min(self.compiled_bytes())
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

    /// Whether it matches a text without a character. Nothing is kept of this search.
    pub(crate) fn matches_empty(&self) -> bool {
        let mut cache = self.regex.create_cache();
        let input = Input::new("").earliest(true);
        self.regex.search_half_with(&mut cache, &input).is_some()
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
            counted: 0,
        }
    }

    pub(crate) fn too_large() -> Self {
        Self {
            reason: format!("is larger than {LARGEST_COMPILED} bytes when compiled"),
            counted: LARGEST_COMPILED,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_regex_counts_with_the_first_size_that_one_of_its_automata_fits_in() {
        for (regex, size) in [
            ("a", SIZES[0]),
            (r"\w{20}", SIZES[1]),
            (r"\w{200}", SIZES[2]),
        ] {
            let regex = PooledRegex::new(regex, &WorkingMemory::of(1)).unwrap();
            assert_eq!(regex.size, size);
            let (counted, compiled) = (regex.counted_bytes(), regex.compiled_bytes());
            assert!(counted <= size && counted <= compiled);
            assert!(compiled <= 2 * size + 2 * LARGEST_ONE_PASS, "{compiled}");
        }
    }

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

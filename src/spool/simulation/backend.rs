//! A backend of one simulated history: it stores each record of an exchange and stage once, and may be slow, away,
//! busy, forgetful in its answers, or against a record.

use crate::backend::{
    Analyzer, AnalyzerError, AttachError, Attachment, BatchResult, Durable, Record, Verdict,
};
use crate::spool::disk::simulated::Chance;
use crate::spool::tests::answer;
use crate::spool::witness::{Key, key};
use async_trait::async_trait;
use monitor_model::{AnalysisResponse, RecordId, Secret};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use uuid::Uuid;

/// How the backend answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Takes,
    Slow,
    /// It fails and stores nothing.
    Fails,
    Busy,
    /// It answers after its client has given up.
    Hangs,
    /// It stores the record, and the answer is lost.
    AnswerLost,
    /// Whatever of these comes next.
    Moody,
}

impl Mood {
    pub(super) const ALL: [Self; 7] = [
        Self::Takes,
        Self::Slow,
        Self::Fails,
        Self::Busy,
        Self::Hangs,
        Self::AnswerLost,
        Self::Moody,
    ];
}

pub(super) struct Backend {
    batches: bool,
    early_verdicts: bool,
    state: Mutex<State>,
}

struct State {
    chance: Chance,
    mood: Mood,
    /// Exchanges whose records it refuses; every so many-th one.
    refuses_every: u128,
    stored: BTreeMap<Key, String>,
    numbers: BTreeMap<(Uuid, u64), Key>,
    /// What must never happen, and did.
    wrong: Vec<String>,
}

impl Backend {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        Self {
            batches: chance.once_in(2),
            early_verdicts: chance.once_in(2),
            state: Mutex::new(State {
                mood: Mood::Takes,
                refuses_every: [u128::MAX, 3, 7][usize::try_from(chance.below(3)).unwrap_or(0)],
                chance,
                stored: BTreeMap::new(),
                numbers: BTreeMap::new(),
                wrong: Vec::new(),
            }),
        }
    }

    pub(super) fn set_mood(&self, mood: Mood) {
        self.lock().mood = mood;
    }

    /// Whether it stores no record of this exchange.
    pub(super) fn refuses(&self, exchange: u128) -> bool {
        let every = self.lock().refuses_every;
        exchange % every == every - 1
    }

    /// The text that it stored for a record.
    pub(super) fn stored(&self) -> BTreeMap<Key, String> {
        self.lock().stored.clone()
    }

    /// What must never happen, and did.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.lock().wrong.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How this call is answered, and after how long.
    fn answers(&self) -> (Mood, Duration) {
        let mut state = self.lock();
        let mood = match state.mood {
            Mood::Moody => {
                let others = Mood::ALL.len() as u64 - 1;
                Mood::ALL[usize::try_from(state.chance.below(others)).unwrap_or(0)]
            }
            mood => mood,
        };
        let ms = match mood {
            Mood::Slow => 50 + state.chance.below(2_000),
            Mood::Hangs => 5_000,
            _ => 1 + state.chance.below(20),
        };
        (mood, Duration::from_millis(ms))
    }

    async fn call(&self, record: &Record) -> Result<(), AnalyzerError> {
        let (mood, wait) = self.answers();
        tokio::time::sleep(wait).await;
        match mood {
            Mood::Fails | Mood::Hangs => {
                return Err(AnalyzerError::Unavailable("status 500".into()));
            }
            Mood::Busy => return Err(AnalyzerError::Busy(429)),
            Mood::Takes | Mood::Slow | Mood::AnswerLost | Mood::Moody => {}
        }
        if self.refuses(record.context.exchange.0.as_u128()) {
            return Err(AnalyzerError::Refused(422));
        }
        self.store(record);
        match mood {
            Mood::AnswerLost => Err(AnalyzerError::Unavailable("no answer".into())),
            _ => Ok(()),
        }
    }

    /// Stores a record.
    pub(super) fn store(&self, record: &Record) {
        let key = key(record);
        let mut state = self.lock();
        let before = state.stored.insert(key, record.message.to_string());
        if before.is_some_and(|before| *before != *record.message) {
            state.wrong.push(format!("{key:?} came with two texts"));
        }
        // A call whose record the spool did not accept delivers it without one.
        let Some(chain) = record.chain else {
            return;
        };
        let number = (chain.gateway, chain.sequence);
        let other = state.numbers.insert(number, key);
        if let Some(other) = other.filter(|other| *other != key) {
            let number = chain.sequence;
            state
                .wrong
                .push(format!("number {number}: {other:?} and {key:?}"));
        }
    }
}

#[async_trait]
impl Analyzer for Backend {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        self.call(record).await?;
        Ok(answer())
    }

    fn takes_batches(&self) -> bool {
        self.batches
    }

    async fn analyze_batch(&self, records: &[&Record]) -> Option<Vec<BatchResult>> {
        let (mood, wait) = self.answers();
        tokio::time::sleep(wait).await;
        if mood == Mood::Fails {
            return None;
        }
        let mut results = Vec::new();
        for record in records {
            results.push(self.call(record).await.map(|()| None));
        }
        // The whole answer is lost.
        (mood != Mood::AnswerLost).then_some(results)
    }

    async fn check(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        if !self.early_verdicts {
            self.call(record).await?;
            return Ok(Verdict {
                analysis: answer(),
                durable: None,
            });
        }
        if self.refuses(record.context.exchange.0.as_u128()) {
            return Err(AnalyzerError::Refused(422));
        }
        let (mood, wait) = self.answers();
        let is_stored = matches!(mood, Mood::Takes | Mood::Slow | Mood::AnswerLost);
        if is_stored {
            self.store(record);
        }
        let durable: Durable = Box::pin(async move {
            tokio::time::sleep(wait).await;
            match is_stored && mood != Mood::AnswerLost {
                true => Ok(()),
                false => Err(AnalyzerError::Unavailable("not stored".into())),
            }
        });
        Ok(Verdict {
            analysis: answer(),
            durable: Some(durable),
        })
    }

    async fn attach(&self, _: &Secret, _: RecordId, _: Attachment) -> Result<(), AttachError> {
        Ok(())
    }
}

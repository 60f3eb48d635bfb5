//! The names under which sums count a call. Clients choose models and users, so that a day has a bounded number of them
//! for each application; the calls of any further one count as `other`. The names of the price table have no bound.
//!
//! They are kept in memory. What the store has is read when an application is first seen on a day, and later if the
//! store does not answer in time. Until then, and with several analysis servers, a day may have as many again.

use super::LONGEST_DELAY;
use crate::analysis::clock::day_of;
use crate::config::Prices;
use crate::observe::events::CostNamesFull;
use crate::observe::{Metrics, SumName};
use monitor_model::ApplicationId;
use monitor_store::{
    CostFilter, CostGroups, CostSum, NewRecord, OTHER_NAMES as OTHER, StatisticsStore, StoreError,
};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

/// Models of a day and application that stand in no price table.
const MOST_MODELS: usize = 50;
/// Users of a day and application.
const MOST_USERS: usize = 1_000;
/// Sums of a day and application that are read: each name has one for each currency and each way to know its cost.
const MOST_SUMS: u32 = 8_000;
/// Days whose names are kept: records may come late, and a clock may be wrong.
const MOST_DAYS: usize = 4;
/// After a read that failed.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(5);

pub(crate) struct CostNames {
    statistics: Arc<dyn StatisticsStore>,
    metrics: Option<Arc<Metrics>>,
    days: Mutex<Days>,
}

/// The last days of which records came, the latest used one first.
#[derive(Default)]
struct Days(Vec<(i64, HashMap<ApplicationId, Arc<OfDay>>)>);

/// The names of an application on a day.
#[derive(Default)]
struct OfDay {
    names: Mutex<Names>,
    /// One record reads, others wait for it.
    reading: AsyncMutex<()>,
}

#[derive(Default)]
struct Names {
    models: Bounded<MOST_MODELS>,
    users: Bounded<MOST_USERS>,
    stored: Stored,
}

/// Whether the names that the store has are among them.
#[derive(Clone, Copy, Default)]
enum Stored {
    #[default]
    Unknown,
    Failed(Instant),
    Read,
}

/// Names that the store has.
#[derive(Default)]
struct StoredNames {
    models: Vec<String>,
    users: Vec<String>,
}

/// A set of names, by their hashes.
#[derive(Default)]
struct Bounded<const MOST: usize> {
    names: HashSet<u64>,
    hasher: RandomState,
    /// A name was refused.
    has_refused: bool,
}

impl<const MOST: usize> Bounded<MOST> {
    /// Whether the name is one of the set, or still has room in it.
    fn admits(&mut self, name: &str) -> bool {
        let hash = self.hasher.hash_one(name);
        let is_one = self.names.contains(&hash);
        if !is_one && self.names.len() < MOST {
            return self.names.insert(hash);
        }
        is_one
    }

    /// Notes that a name was refused; true for the first one.
    fn refuse(&mut self) -> bool {
        !std::mem::replace(&mut self.has_refused, true)
    }

    /// Takes the name, also into a full set.
    fn add(&mut self, name: &str) {
        self.names.insert(self.hasher.hash_one(name));
    }
}

impl Names {
    fn is_to_be_read(&self) -> bool {
        match self.stored {
            Stored::Unknown => true,
            Stored::Failed(at) => at.elapsed() >= READ_AGAIN_AFTER,
            Stored::Read => false,
        }
    }

    /// Takes what a read gave; None if it failed.
    fn take(&mut self, stored: Option<&StoredNames>) {
        let Some(stored) = stored else {
            self.stored = Stored::Failed(Instant::now());
            return;
        };
        for name in &stored.models {
            self.models.add(name);
        }
        for name in &stored.users {
            self.users.add(name);
        }
        self.stored = Stored::Read;
    }
}

impl Days {
    fn of(&mut self, application: ApplicationId, day: i64) -> Arc<OfDay> {
        let known = self.0.iter().position(|(one, _)| *one == day);
        let used = known.map_or_else(|| (day, HashMap::new()), |at| self.0.remove(at));
        self.0.insert(0, used);
        self.0.truncate(MOST_DAYS);
        let applications = &mut self.0[0].1;
        applications.entry(application).or_default().clone()
    }
}

impl CostNames {
    pub(crate) fn new(statistics: Arc<dyn StatisticsStore>, metrics: Option<Arc<Metrics>>) -> Self {
        Self {
            statistics,
            metrics,
            days: Mutex::default(),
        }
    }

    /// Names the sums of a record's call; false if the names of its application have to be read first.
    pub(crate) fn name(&self, record: &mut NewRecord) -> bool {
        self.name_if(record, |names| !names.is_to_be_read())
    }

    /// Names them by the names that are known, whether or not those of the store could be read.
    pub(crate) fn name_by_known(&self, record: &mut NewRecord) {
        self.name_if(record, |_| true);
    }

    fn name_if(&self, record: &mut NewRecord, is_ready: impl Fn(&Names) -> bool) -> bool {
        let cost = record.cost.as_mut();
        let Some(cost) = cost.filter(|cost| cost.priced.is_some()) else {
            return true;
        };
        let of_day = self.of(record.application_id, day_of(record.created_at_ms));
        let mut names = lock(&of_day.names);
        if !is_ready(&names) {
            return false;
        }
        let counted_as = &mut cost.counted_as;
        if let (None, Some(model)) = (&counted_as.model, &cost.model)
            && !names.models.admits(model)
        {
            counted_as.model = Some(OTHER.to_owned());
            if names.models.refuse() {
                self.report_full(record.application_id, SumName::Model);
            }
        }
        if let Some(user) = &record.user_id
            && !names.users.admits(user)
        {
            counted_as.user = Some(OTHER.to_owned());
            if names.users.refuse() {
                self.report_full(record.application_id, SumName::User);
            }
        }
        true
    }

    fn report_full(&self, application: ApplicationId, kind: SumName) {
        if let Some(metrics) = &self.metrics {
            CostNamesFull { application, kind }.emit(metrics);
        }
    }

    /// Reads the names that the store has of a record's application and day.
    pub(crate) async fn read(&self, application: ApplicationId, at_ms: i64, prices: &Prices) {
        let day = day_of(at_ms);
        let of_day = self.of(application, day);
        let _turn = of_day.reading.lock().await;
        if !lock(&of_day.names).is_to_be_read() {
            return;
        }
        let stored = timeout(LONGEST_DELAY, self.stored(application, day, prices)).await;
        let stored = stored.ok().and_then(Result::ok);
        lock(&of_day.names).take(stored.as_ref());
    }

    async fn stored(
        &self,
        application: ApplicationId,
        day: i64,
        prices: &Prices,
    ) -> Result<StoredNames, StoreError> {
        let mut names = StoredNames::default();
        let by_model = CostGroups {
            model: true,
            ..CostGroups::default()
        };
        for sum in self.sums(application, day, by_model).await? {
            let is_own = |model: &String| model != OTHER && !prices.has(model);
            names.models.extend(sum.model.filter(is_own));
        }
        let by_user = CostGroups {
            user: true,
            ..CostGroups::default()
        };
        for sum in self.sums(application, day, by_user).await? {
            let is_own = |user: &String| user != OTHER;
            names.users.extend(sum.user_id.filter(is_own));
        }
        Ok(names)
    }

    async fn sums(
        &self,
        application: ApplicationId,
        day: i64,
        groups: CostGroups,
    ) -> Result<Vec<CostSum>, StoreError> {
        let filter = CostFilter {
            application_id: Some(application),
            user_id: None,
            model: None,
            days: (day, day),
            groups,
            limit: MOST_SUMS,
        };
        self.statistics.costs(&filter).await
    }

    fn of(&self, application: ApplicationId, day: i64) -> Arc<OfDay> {
        lock(&self.days).of(application, day)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    #[test]
    fn a_full_set_takes_no_other_name_and_keeps_its_own() {
        let mut names = Bounded::<2>::default();
        let taken = ["a", "b", "c", "a", "b"].map(|name| names.admits(name));
        assert_eq!(taken, [true, true, false, true, true]);
    }

    #[test]
    fn each_day_has_names_of_its_own_whatever_the_clock_said_before() {
        let (mut days, application) = (Days::default(), ApplicationId::random());
        let mut admits =
            |day, name: &str| lock(&days.of(application, day).names).models.admits(name);
        // Of a clock that stands a year ahead.
        for number in 0..MOST_MODELS {
            assert!(admits(365, &number.to_string()));
        }
        assert!(!admits(365, "new"));
        for day in [0, 1, 0, 2, 3] {
            assert!(admits(day, &format!("new {day}")));
        }
        assert_eq!(days.0.len(), MOST_DAYS);
        assert!(days.0.iter().all(|(day, _)| *day < 365));
    }

    #[tokio::test(start_paused = true)]
    async fn names_that_could_not_be_read_are_read_later() {
        let mut names = Names::default();
        assert!(names.is_to_be_read());
        names.take(None);
        assert!(
            !names.is_to_be_read(),
            "records of the next seconds do not wait"
        );
        for number in 0..MOST_MODELS {
            assert!(names.models.admits(&number.to_string()));
        }
        sleep(READ_AGAIN_AFTER).await;
        assert!(names.is_to_be_read());
        names.take(Some(&StoredNames {
            models: vec!["stored".to_owned()],
            users: Vec::new(),
        }));
        assert!(!names.is_to_be_read());
        assert!(names.models.admits("stored") && !names.models.admits("new"));
    }
}

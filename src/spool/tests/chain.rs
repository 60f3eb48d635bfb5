//! The numbers of records on their way through the spool (CONTRACT 5).

use super::*;
use crate::spool::frames::tests::contents;
use monitor_model::{Chain, ChainHash};
use std::path::PathBuf;

/// Takes every record that is in a segment, and remembers its number and link.
#[derive(Default)]
struct Witness {
    folder: PathBuf,
    away: std::sync::atomic::AtomicBool,
    seen: Mutex<Vec<(Chain, ChainHash)>>,
}

#[async_trait]
impl Analyzer for Witness {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        if self.away.load(Ordering::Relaxed) {
            return Err(AnalyzerError::Unavailable("down".into()));
        }
        let chain = record.chain.unwrap();
        assert!(
            numbers(&self.folder).contains(&chain.sequence),
            "not on disk"
        );
        let mut seen = self.seen.lock().unwrap();
        seen.push((chain, chain.link(record.digest())));
        Ok(answer())
    }

    async fn attach(&self, _: &Secret, _: RecordId, _: Attachment) -> Result<(), AttachError> {
        Ok(())
    }
}

/// Every number in a folder's segments, in their order.
fn numbers(folder: &Path) -> Vec<u64> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "seg"));
    paths.sort();
    let mut numbers = Vec::new();
    for path in paths {
        let records = contents(&path).into_iter();
        numbers.extend(
            records
                .filter_map(|content| record_codec::chain(&content))
                .map(|chain| chain.sequence),
        );
    }
    numbers
}

struct Chained {
    witness: Arc<Witness>,
    spool: Spool,
    closer: Closer,
    delivery: tokio::task::JoinHandle<()>,
}

fn open(folder: &Path, away: bool) -> Chained {
    let witness = Arc::new(Witness {
        folder: folder.into(),
        ..Witness::default()
    });
    witness.away.store(away, Ordering::Relaxed);
    let metrics = Arc::new(Metrics::new().unwrap());
    let opened = Spool::open(&folder.into(), BOUNDS, witness.clone(), metrics).unwrap();
    Chained {
        witness,
        spool: opened.spool,
        delivery: tokio::spawn(opened.delivery.run()),
        closer: opened.closer,
    }
}

impl Chained {
    /// Everything that was delivered, by number; each number once, each naming the one before.
    async fn delivered(self, count: usize) -> Vec<(Chain, ChainHash)> {
        let seen = || self.witness.seen.lock().unwrap().len();
        eventually(|| seen() >= count && self.spool.waiting() == 0).await;
        tokio::task::spawn_blocking(|| self.closer.close())
            .await
            .unwrap();
        self.delivery.await.unwrap();
        let mut seen = std::mem::take(&mut *self.witness.seen.lock().unwrap());
        seen.sort_by_key(|(chain, _)| chain.sequence);
        for pair in seen.windows(2) {
            let ((one, link), (next, _)) = (pair[0], pair[1]);
            assert_eq!(next.sequence, one.sequence + 1);
            assert_eq!((next.previous, next.gateway), (link, one.gateway));
        }
        seen
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_5_a_record_leaves_once_it_is_on_disk_and_numbers_go_on_over_starts() {
    let folder = Folder::unmade();
    let mut all = Vec::new();
    for start in 0..3 {
        let world = open(folder.path(), false);
        for number in 0..100 {
            world
                .spool
                .push(record(start * 100 + number, Stage::PreCall));
        }
        all.extend(world.delivered(100).await);
    }
    assert_eq!(all.first().unwrap().0.previous, ChainHash::default());
    let numbers: Vec<_> = all.iter().map(|(chain, _)| chain.sequence).collect();
    assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
    assert!(all.iter().all(|(chain, _)| chain.after.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_5_a_crash_takes_back_no_number_that_is_on_disk() {
    let folder = Folder::unmade();
    let world = open(folder.path(), true);
    for number in 0..50 {
        world.spool.push(record(number, Stage::PostCall));
    }
    let last = world.spool.push(record(50, Stage::PostCall));
    world.spool.wait_durable(last).await;
    let left = copy(folder.path());
    let again = open(left.path(), false);
    again.spool.push(record(51, Stage::PostCall));
    let seen = again.delivered(52).await;
    assert_eq!(seen.len(), 52);
    assert_eq!(seen.last().unwrap().0.sequence, 52);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_5_the_record_of_an_awaited_call_has_its_number_whatever_becomes_of_the_call() {
    let folder = Folder::unmade();
    let world = open(folder.path(), false);
    let hold = |number| world.spool.lease(record(number, Stage::PreCall));
    let (settled, dropped, failed) = (hold(0), hold(1), hold(2));
    let chains = [&settled, &dropped, &failed].map(|held| held.record().unwrap().chain.unwrap());
    assert_eq!(chains.map(|chain| chain.sequence), [1, 2, 3]);
    assert!(world.witness.seen.lock().unwrap().is_empty());
    world.spool.wait_durable(Receipt(3)).await;
    let left = copy(folder.path());
    let crash = open(left.path(), false);
    eventually(|| crash.witness.seen.lock().unwrap().len() == 3).await;
    settled.delivered(Some(RecordId::random()));
    drop(dropped);
    let receipt = failed.release();
    world.spool.wait_durable(receipt).await;
    let seen = world.delivered(2).await;
    let numbers: Vec<_> = seen.iter().map(|(chain, _)| chain.sequence).collect();
    assert_eq!(numbers, [2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_5_what_a_full_spool_drops_keeps_its_number() {
    let folder = Folder::unmade();
    let world = open(folder.path(), true);
    for number in 0..20 {
        world.spool.push(record(number, Stage::PreCall));
    }
    let last = world.spool.push(record(20, Stage::PreCall));
    world.spool.wait_durable(last).await;
    let left = copy(folder.path());
    std::fs::remove_file(segment::path(left.path(), 1)).unwrap();
    let again = open(left.path(), false);
    again.spool.push(record(21, Stage::PreCall));
    let seen = again.delivered(1).await;
    assert_eq!(
        seen[0].0.sequence, 22,
        "the file's numbers are not given again"
    );
}

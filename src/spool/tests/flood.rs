//! A flood of large calls on a slow disk (CONTRACT 23), in virtual time: the disk takes what has come once in each pace.

use super::*;
use crate::fair_queue::Tenant;
use crate::spool::disk::simulated;
use futures_util::future::{join, join_all};

const LARGE: usize = 2 << 20;
/// Their prompts are half as much again as may wait for the disk (32 MiB).
const FLOOD: u128 = 24;
const SMALL: u128 = 20;
/// Whose key no backend has accepted.
const STRANGER: Tenant = Tenant {
    holder: 0,
    application: 0,
};
const KNOWN: Tenant = Tenant {
    holder: u64::MAX,
    application: 0,
};

fn record_of(key: &str, exchange: u128, stage: Stage, bytes: usize) -> Record {
    let mut record = record(exchange, stage);
    let context = Arc::get_mut(&mut record.context).unwrap();
    context.access_key = Secret::new(key);
    record.message = "x".repeat(bytes).into();
    record
}

/// One call: its prompt waits for room, and its answer comes right behind it.
async fn call(spool: &Spool, tenant: Tenant, prompt: Record, answer: Record) -> [Receipt; 2] {
    let bytes = prompt.message.len() as u64;
    let room = match spool.has_room(tenant, bytes) {
        true => None,
        false => Some(spool.wait_for_room(tenant, bytes).await),
    };
    let receipts = [spool.push(prompt), spool.push(answer)];
    drop(room);
    receipts
}

#[tokio::test(start_paused = true)]
async fn contract_23_a_flood_of_invented_keys_on_a_slow_disk_loses_no_record() {
    for pace in [300, 700].map(Duration::from_millis) {
        let folder = simulated::start(1, 0);
        let (backend, metrics) = (Arc::<Backend>::default(), Arc::new(Metrics::new().unwrap()));
        let (spool, _delivery, mut writer) =
            Spool::assemble(&folder.as_path().into(), BOUNDS, backend, metrics).unwrap();
        let accepted = record_of("known", 0, Stage::PreCall, 1);
        spool.core.lock().add_known_holder(&accepted);
        let flood = (0..FLOOD).map(|number| {
            let prompt = record_of("invented", number, Stage::PreCall, LARGE);
            let answer = record_of("invented", number, Stage::PostCall, 100);
            call(&spool, STRANGER, prompt, answer)
        });
        let small = (FLOOD..FLOOD + SMALL).map(|number| {
            let prompt = record_of("known", number, Stage::PreCall, 100);
            let answer = record_of("known", number, Stage::PostCall, 100);
            let spool = &spool;
            async move {
                let before = u32::try_from(number - FLOOD).unwrap();
                tokio::time::sleep(Duration::from_millis(50) * before).await;
                call(spool, KNOWN, prompt, answer).await
            }
        });
        let disk = async {
            for _ in 0..1_000 {
                tokio::time::sleep(pace).await;
                writer.round();
            }
        };
        let receipts = tokio::select! {
            (flood, small) = join(join_all(flood), join_all(small)) => [flood, small].concat(),
            () = disk => panic!("the calls do not end"),
        };
        writer.round();
        let written = spool.core.disk().written;
        let receipts: Vec<_> = receipts.into_iter().flatten().collect();
        assert_eq!(receipts.len() as u128, 2 * (FLOOD + SMALL));
        let lost = receipts.iter().filter(|receipt| receipt.0 > written);
        assert_eq!(lost.count(), 0, "{pace:?}");
        simulated::stop();
    }
}

//! What the spool does while the system refuses something that it grants later, or never (CONTRACT 23).

use super::samples::sample_record;
use super::*;
use crate::observe::DropReason;
use crate::spool::disk::{self, simulated};
use crate::spool::frames::damage;
use crate::spool::recovery::incoming::{self, IncomingFile};
use std::io::Write as _;
use std::path::PathBuf;

fn assemble(folder: &Path, backend: &Arc<Backend>) -> Result<(Spool, writer::Writer), SpoolError> {
    let metrics = Arc::new(Metrics::new().unwrap());
    let assembled = Spool::assemble(&folder.into(), BOUNDS, backend.clone(), metrics);
    assembled.map(|(spool, _, writer)| (spool, writer))
}

/// The folder of a process that left records in a segment, one of them acknowledged, a dead letter, and a record that is
/// put back.
fn left_behind(backend: &Arc<Backend>) -> PathBuf {
    let folder = simulated::start(1, 0);
    let (spool, mut writer) = assemble(&folder, backend).unwrap();
    for exchange in 1..=3 {
        spool.push(record(exchange, Stage::PreCall));
    }
    spool.core.add_dead_letter(422, &sample_record(9), None);
    writer.round();
    ack_log::append(&folder, 1, &[1]).unwrap();
    let mut content = Vec::new();
    record_codec::encode(&sample_record(8), &mut content);
    let incoming = SpoolFolder::from(incoming::create_folder(&folder).unwrap().as_path());
    let mut file = IncomingFile::create(&incoming).unwrap();
    file.append(&content).unwrap();
    file.publish().unwrap();
    folder
}

/// Damaged files, and records that were lost with them.
fn losses(spool: &Spool) -> (u64, u64) {
    let metrics = &spool.core.metrics().spool;
    (
        metrics.damaged.get(),
        metrics.lost_so_far(DropReason::Damaged),
    )
}

#[tokio::test]
async fn contract_23_a_file_that_cannot_be_opened_now_costs_no_record_whichever_it_is() {
    let backend = Arc::new(Backend::default());
    let mut refused = 0;
    // Every file that a start and its first round open is refused once.
    for opens_before in 0.. {
        let folder = left_behind(&backend);
        simulated::set_faults(|faults| {
            faults.opens_before = opens_before;
            faults.refused_opens = 1;
        });
        match assemble(&folder, &backend) {
            Ok((spool, mut writer)) => {
                writer.round();
                assert_eq!(losses(&spool), (0, 0), "{opens_before}");
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("Too many open files"), "{error}");
                refused += 1;
            }
        }
        if simulated::faults().refused_opens > 0 {
            break;
        }
        let (spool, mut writer) = assemble(&folder, &backend).unwrap();
        for _ in 0..3 {
            writer.round();
        }
        assert_eq!(spool.status().records, 3, "{opens_before}");
        assert_eq!(losses(&spool), (0, 0), "{opens_before}");
        assert_eq!(dead_letters(&folder.as_path().into()).unwrap().len(), 1);
    }
    // The segment is opened for its format, for a torn end and for its numbers.
    assert!(refused >= 3, "{refused}");
    simulated::stop();
}

#[test]
fn contract_23_a_damaged_file_is_kept_where_the_file_system_has_no_links() {
    let folder = simulated::start(1, 0);
    let metrics = Metrics::new().unwrap();
    let path = segment::path(&folder, 1);
    let content = b"MONSPL".repeat(100_000);
    disk::create_new(&path)
        .unwrap()
        .write_all(&content)
        .unwrap();
    simulated::set_faults(|faults| faults.no_links = true);
    for _ in 0..2 {
        damage::keep(&path, 7, &metrics).unwrap();
        let kept = disk::open(&damage::kept_path(&path)).unwrap();
        let mut copy = vec![0; content.len() + 1];
        assert_eq!(kept.read_at(&mut copy, 0).unwrap(), content.len());
        assert!(copy[..content.len()] == content);
        assert_eq!(disk::list(&folder).unwrap().len(), 2);
    }
    simulated::stop();
}

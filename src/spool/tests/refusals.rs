//! What the spool does while the system refuses something that it grants later, or never (CONTRACT 23).

use super::*;
use crate::spool::disk::{self, simulated};
use crate::spool::frames::damage;
use std::io::Write as _;

fn assemble(folder: &Path, backend: &Arc<Backend>) -> Result<(Spool, writer::Writer), SpoolError> {
    let metrics = Arc::new(Metrics::new().unwrap());
    let assembled = Spool::assemble(&folder.into(), BOUNDS, backend.clone(), metrics);
    assembled.map(|(spool, _, writer)| (spool, writer))
}

#[tokio::test]
async fn contract_23_a_segment_that_cannot_be_opened_now_stops_the_start_and_is_kept() {
    let folder = simulated::start(1, 0);
    let backend = Arc::new(Backend::default());
    let (spool, mut writer) = assemble(&folder, &backend).unwrap();
    spool.push(record(1, Stage::PreCall));
    writer.round();
    drop((spool, writer));
    // The segment is opened for its format, for a torn end, for its acknowledgements and for its numbers.
    for refused in 0..3 {
        simulated::set_faults(|faults| faults.refused_opens = 1);
        let error = assemble(&folder, &backend).err().unwrap().to_string();
        assert!(error.contains("Too many open files"), "{refused}: {error}");
        assert!(error.contains("0000000000000001.seg"), "{error}");
    }
    let (spool, mut writer) = assemble(&folder, &backend).unwrap();
    writer.round();
    assert_eq!(spool.status().records, 1);
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

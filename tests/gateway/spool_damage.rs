//! CONTRACT 23 with damaged files, through the binary: a wrong bit costs the record it is in, and that is logged.

use crate::spool_commands::shown;
use crate::spool_faults::registering;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use support::backend::{Backend, Manner};
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::Upstream;
use support::{eventually, make_pipe};

const CALLS: usize = 12;
/// Bytes before the first frame, and of a frame before its content.
const FILE_HEADER: usize = 4_128;
const FRAME_HEADER: usize = 24;

fn data_of(folder: &Folder) -> PathBuf {
    folder.path().join("data")
}

/// A folder in which a gateway was killed with the records of all calls in one segment; its path.
fn left_behind(upstream: &Upstream, backend: &Backend, folder: &Arc<Folder>) -> PathBuf {
    let mut stack = registering(upstream, backend, folder).start();
    for call in 0..CALLS {
        let request = Request::chat(HELLO).header("X-User-Id", &format!("user-{call}"));
        assert_eq!(stack.call(&request).status(), 200);
    }
    eventually("all are on disk", || {
        (shown("status", &data_of(folder))["records"] == 2 * CALLS).then_some(())
    });
    stack.process.signal("KILL");
    stack.process.await_exit();
    let files = std::fs::read_dir(data_of(folder).join("spool")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    files
        .find(|path| path.extension().is_some_and(|kind| kind == "seg"))
        .unwrap()
}

/// The places of a segment's frames.
fn frames(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut at, mut frames) = (FILE_HEADER, Vec::new());
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 12..at + 16].try_into().unwrap());
        let end = at + FRAME_HEADER + length as usize;
        frames.push(at..end);
        at = end;
    }
    frames
}

/// The user and the stage of each record that the backend has.
fn stored(backend: &Backend) -> HashSet<(String, bool)> {
    let calls = backend.calls().into_iter();
    let names = calls.map(|call| {
        let user = call.parameter("user_id").as_str().unwrap().to_owned();
        (user, call.is_pre())
    });
    names.collect()
}

/// Starts a gateway in the folder and waits until nothing is owed.
fn delivered(upstream: &Upstream, backend: &Backend, folder: &Arc<Folder>) -> Stack {
    backend.recovers();
    backend.forget();
    let stack = registering(upstream, backend, folder).start();
    eventually("nothing is owed", || {
        let status = shown("status", &data_of(folder));
        (status["records"] == 0 && status["put_back"] == 0).then_some(())
    });
    stack
}

#[test]
fn contract_23_a_wrong_bit_in_a_segment_costs_the_record_it_is_in_and_is_said() {
    let upstream = Upstream::ok();
    // A marker, an ordinal, the high byte of a length, either checksum, a text.
    for place in [3, 9, 15, 17, 22, FRAME_HEADER + 100] {
        let (backend, folder) = (Backend::that(Manner::Refuses(500)), Folder::new());
        let path = left_behind(&upstream, &backend, &folder);
        let mut bytes = std::fs::read(&path).unwrap();
        let frames = frames(&bytes);
        assert_eq!(frames.len(), 2 * CALLS);
        bytes[frames[5].start + place] ^= 0x80;
        std::fs::write(&path, &bytes).unwrap();
        let stack = delivered(&upstream, &backend, &folder);
        assert_eq!(stored(&backend).len(), 2 * CALLS - 1, "{place}");
        let lost = stack.metric("monitor_spool_lost_total{reason=\"damaged\"}");
        assert_eq!(
            (lost, stack.metric("monitor_spool_damaged_total")),
            (1.0, 1.0)
        );
        let kept = std::fs::read(path.with_extension("damaged")).unwrap();
        assert!(kept == bytes, "{place}: the file is kept");
        let said = stack.stderr();
        assert_eq!(
            said.matches("unreadable bytes in the spool").count(),
            1,
            "{said}"
        );
        assert_eq!(shown("status", &data_of(&folder))["damaged_files"], 1);
    }
}

#[test]
fn contract_23_a_segment_that_was_cut_short_is_said_wherever_it_ends() {
    let upstream = Upstream::ok();
    // Nothing, within the file's header, behind it, within a frame, all but a byte.
    for left in [
        0,
        100,
        512,
        FILE_HEADER - 1,
        FILE_HEADER,
        FILE_HEADER + 300,
        usize::MAX,
    ] {
        let (backend, folder) = (Backend::that(Manner::Refuses(500)), Folder::new());
        let path = left_behind(&upstream, &backend, &folder);
        let bytes = std::fs::read(&path).unwrap();
        let left = left.min(bytes.len() - 1);
        std::fs::write(&path, &bytes[..left]).unwrap();
        let whole = frames(&bytes)
            .iter()
            .filter(|frame| frame.end <= left)
            .count();
        let stack = delivered(&upstream, &backend, &folder);
        assert_eq!(stored(&backend).len(), whole, "{left}");
        let lost = stack.metric("monitor_spool_lost_total{reason=\"damaged\"}");
        assert_eq!(lost, 1.0, "{left}: at least one is counted");
        let said = stack.stderr();
        assert!(
            said.contains("1 records lost in damaged parts"),
            "{left}: {said}"
        );
    }
}

#[test]
fn contract_23_a_segment_of_the_last_release_is_delivered_and_a_wrong_bit_there_costs_its_record() {
    let upstream = Upstream::ok();
    // The last release may have met the damage itself and kept the file.
    for (damaged, was_kept) in [(None, false), (Some(3), false), (Some(3), true)] {
        let (backend, folder) = (Backend::that(Manner::Refuses(500)), Folder::new());
        let path = left_behind(&upstream, &backend, &folder);
        let bytes = std::fs::read(&path).unwrap();
        let mut old = b"MONSPL01".to_vec();
        for (index, place) in frames(&bytes).into_iter().enumerate() {
            let content = &bytes[place.start + FRAME_HEADER..place.end];
            let mut length = u32::try_from(content.len()).unwrap().to_le_bytes();
            let checksum = crc32fast::hash(&[&length[..], content].concat());
            if damaged == Some(index) {
                length[3] ^= 0x80;
            }
            old.extend_from_slice(&length);
            old.extend_from_slice(&checksum.to_le_bytes());
            old.extend_from_slice(content);
        }
        std::fs::write(&path, &old).unwrap();
        if was_kept {
            std::fs::hard_link(&path, path.with_extension("damaged")).unwrap();
        }
        let stack = delivered(&upstream, &backend, &folder);
        let lost = usize::from(damaged.is_some());
        eventually("all others arrive", || {
            (stored(&backend).len() == 2 * CALLS - lost).then_some(())
        });
        assert_eq!(stack.metric("monitor_spool_damaged_total"), lost as f64);
    }
}

#[test]
fn contract_23_what_an_older_version_set_aside_is_put_back_by_repair() {
    let (upstream, away) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let folder = Folder::new();
    let path = left_behind(&upstream, &away, &folder);
    // One that the killed process never wrote to.
    let backend = Backend::start();
    std::fs::rename(&path, path.with_extension("damaged")).unwrap();
    let _stack = delivered(&upstream, &backend, &folder);
    assert_eq!(stored(&backend).len(), 0);
    let done = shown("repair", &data_of(&folder));
    assert_eq!(done["put_back"], 2 * CALLS, "{done}");
    eventually("they arrive", || {
        (stored(&backend).len() == 2 * CALLS).then_some(())
    });
    assert_eq!(shown("status", &data_of(&folder))["damaged_files"], 0);
}

#[test]
fn contract_23_a_start_reads_regular_files_only() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let folder = Folder::new();
    let path = left_behind(&upstream, &backend, &folder);
    let acks = path.with_extension("ack");
    std::os::unix::fs::symlink("/dev/zero", acks).unwrap();
    let pipe = data_of(&folder).join("spool").join("0000000000000077.seg");
    make_pipe(&pipe);
    let _stack = delivered(&upstream, &backend, &folder);
    assert_eq!(stored(&backend).len(), 2 * CALLS);
}

#[test]
fn contract_23_a_file_in_which_nothing_can_be_read_does_not_stay_for_ever() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let folder = Folder::new();
    let path = left_behind(&upstream, &backend, &folder);
    std::fs::write(&path, [0x5a; 20_000]).unwrap();
    let stack = delivered(&upstream, &backend, &folder);
    let lost = stack.metric("monitor_spool_lost_total{reason=\"damaged\"}");
    assert_eq!(lost, 1.0, "one at least");
    let done = shown("repair", &data_of(&folder));
    assert_eq!((&done["unreadable"], &done["left"]), (&1.into(), &0.into()));
    assert_eq!(shown("status", &data_of(&folder))["damaged_files"], 0);
    assert!(path.with_extension("unreadable").exists());
}

#[test]
fn contract_23_a_lost_sector_at_the_beginning_of_a_segment_costs_no_record() {
    let upstream = Upstream::ok();
    for (sector, value) in [(512, 0x00), (4_096, 0x5a)] {
        let (backend, folder) = (Backend::that(Manner::Refuses(500)), Folder::new());
        let path = left_behind(&upstream, &backend, &folder);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[..sector].fill(value);
        std::fs::write(&path, &bytes).unwrap();
        let _stack = delivered(&upstream, &backend, &folder);
        assert_eq!(stored(&backend).len(), 2 * CALLS, "{sector}");
    }
}

#[test]
fn a_file_of_another_process_that_cannot_be_opened_stops_no_start_and_is_logged() {
    let (upstream, backend, folder) = (Upstream::ok(), Backend::start(), Folder::new());
    let beside = folder.path().join("data/spool").join("beside-1");
    std::fs::create_dir_all(&beside).unwrap();
    let segment = beside.join("0000000000000001.seg");
    std::os::unix::fs::symlink(&segment, &segment).unwrap();
    let stack = registering(&upstream, &backend, &folder).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    backend.await_accepted(2);
    let named = format!("cannot take over {}", beside.display());
    stack.process.await_stderr("the takeover warns", |log| {
        log.contains(&named).then_some(())
    });
    assert!(std::fs::symlink_metadata(&segment).is_ok(), "it is kept");
}

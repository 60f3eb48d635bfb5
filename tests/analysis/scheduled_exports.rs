//! Scheduled exports through the real binary: an object for each of the last days, written once (docs/siem.md). What
//! is in one is tested beside the router.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;
use support::bucket::Bucket;
use support::eventually;
use support::stack::{Folder, Stack};

const WRITTEN: &str = r#"monitor_record_exports_total{result="written"}"#;

fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

fn written_at(path: &Path) -> SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn missing_objects_of_the_last_days_are_written_and_the_others_stay() {
    let folder = Folder::new();
    let place = folder.path().join("lake");
    let yaml = format!(
        "  exports: [{{name: daily, to: {}, days: 2}}]\n",
        place.display()
    );
    let start = || Stack::all().folder(&folder).yaml(&yaml).start();
    let stack = start();
    let daily = place.join("daily");
    eventually("two days are written", || {
        (stack.metric(WRITTEN) == 2.0).then_some(())
    });
    let both = names(&daily);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(
        both.iter().all(|name| name.ends_with(".jsonl.gz")),
        "{both:?}"
    );
    drop(stack);
    let mut paths = both.iter().map(|name| daily.join(name));
    let (first, second) = (paths.next().unwrap(), paths.next().unwrap());
    let before = written_at(&second);
    std::fs::remove_file(&first).unwrap();
    // What an interrupted export leaves.
    std::fs::write(daily.join("2020-01-01.jsonl.gz#1"), "half").unwrap();
    let stack = start();
    eventually("it is written anew", || {
        (stack.metric(WRITTEN) == 1.0).then_some(())
    });
    assert_eq!(names(&daily), both);
    assert_eq!(written_at(&second), before);
}

#[test]
fn objects_go_to_the_bucket_of_blobs_once_it_answers() {
    let bucket = Bucket::start();
    bucket.set_down(true);
    let yaml = "  blobs: s3://files/of/monitor\n  exports: [{name: daily, to: bucket, days: 1}]\n";
    let with_bucket = |stack| {
        let variables = bucket.env().into_iter();
        variables.fold(stack, |stack: support::stack::Builder, (name, value)| {
            stack.env(name, value)
        })
    };
    let stack = with_bucket(Stack::all().yaml(yaml)).start();
    eventually("it fails", || {
        let failed = r#"monitor_record_exports_total{result="failed"}"#;
        (stack.metric(failed) == 1.0).then_some(())
    });
    assert!(!stack.stderr().contains("no-secret"));
    drop(stack);
    bucket.set_down(false);
    let stack = with_bucket(Stack::all().yaml(yaml)).start();
    eventually("it is written", || {
        (stack.metric(WRITTEN) == 1.0).then_some(())
    });
    let objects = bucket.objects();
    let keys: Vec<&String> = objects.keys().collect();
    let [key] = keys[..] else { panic!("{keys:?}") };
    assert!(
        key.starts_with("/files/of/monitor/exports/daily/20"),
        "{key}"
    );
    assert!(key.ends_with(".jsonl.gz"), "{key}");
}

//! Scheduled exports: the object of a day.

use super::World;
use crate::analysis::api::records::export::scheduled::{DailyExport, write_day};
use crate::analysis::clock::{day_of, now_ms};
use crate::config::{ExportPlace, ExportSettings};
use monitor_store::ExportStore;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::Path;
use support::stack::Folder;

fn export(folder: &Path, verdict: Option<&'static str>) -> DailyExport {
    DailyExport {
        settings: ExportSettings {
            name: "daily".to_owned(),
            place: ExportPlace::Folder(folder.into()),
            application: None,
            verdict,
            kind: None,
            days: 1,
        },
        store: ExportStore::local(folder).unwrap(),
    }
}

/// The lines of the only object in a folder.
fn lines(folder: &Path) -> Vec<Value> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    let [path] = &paths[..] else {
        panic!("{paths:?}");
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    let mut packed = flate2::read::MultiGzDecoder::new(file);
    packed.read_to_string(&mut text).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn an_object_has_the_cleaned_records_of_its_day_and_the_audit_log_knows_of_it() {
    let world = World::new().await;
    let day = day_of(now_ms());
    let found = world.analyze("write to zaphod@heart.example").await.body;
    world.analyze("hello").await;
    // Midnight between the two would be another day.
    let day = day.max(day_of(now_ms()));
    let folder = Folder::new();
    let all = folder.path().join("all");
    write_day(&world.services, &export(&all, None), day)
        .await
        .unwrap();
    let written = lines(&all);
    assert_eq!(written.len(), 2, "{written:?}");
    assert_eq!(written[1]["request_id"], found["request_id"]);
    assert_eq!(written[1]["cleaned_text"], "write to [EMAILS]");
    assert_eq!(written[1]["message"], Value::Null);
    // Once more is the same object.
    write_day(&world.services, &export(&all, None), day)
        .await
        .unwrap();
    assert_eq!(lines(&all), written);
    let flagged = folder.path().join("flagged");
    let of_flagged = export(&flagged, Some("flagged"));
    write_day(&world.services, &of_flagged, day).await.unwrap();
    assert_eq!(lines(&flagged), [written[1].clone()]);
    let before = folder.path().join("before");
    write_day(&world.services, &export(&before, None), day - 2)
        .await
        .unwrap();
    assert_eq!(lines(&before), Vec::<Value>::new());
    let log = world
        .get("/audit?action=records.export", world.key())
        .await
        .body;
    let entry = &log["entries"][0];
    assert_eq!(entry["actor"], "export daily");
    assert_eq!(entry["details"]["originals"], json!(false));
}

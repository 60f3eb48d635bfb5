//! Scheduled exports (docs/siem.md): the records of each day (UTC) as one object, JSONL packed with gzip, once the day
//! has ended. What is there is not written again; what is missing of the last days is. Records are without originals,
//! as for a token with the scope read_cleaned, and the audit log has an entry when an object is begun and complete.

use crate::analysis::api::records::shapes::Whole;
use crate::analysis::clock::{day_of, now_ms};
use crate::analysis::{ApiError, Caller, Services};
use crate::config::{ExportPlace, ExportSettings};
use crate::observe::Metrics;
use crate::observe::events::RecordExportEnded;
use flate2::Compression;
use flate2::write::GzEncoder;
use monitor_store::{BlobError, ExportStore, ExportUpload, RecordFilter, VerdictFilter};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Records read at once.
const PAGE: u32 = 200;
/// How often missing objects are looked for.
const LOOK_INTERVAL: Duration = Duration::from_secs(600);
/// How long after its end a day is exported: records of its last moments may still be on their way.
const SETTLE_MS: i64 = 3_600_000;
const DAY_MS: i64 = 86_400_000;

/// The task that exports; it ends with [`ScheduledExports::stop`].
pub struct ScheduledExports(Option<JoinHandle<()>>);

/// One export, and where it goes.
pub(in crate::analysis::api) struct DailyExport {
    pub(in crate::analysis::api) settings: ExportSettings,
    pub(in crate::analysis::api) store: ExportStore,
}

/// Why an object was not written.
#[derive(Debug)]
pub(in crate::analysis::api) enum ExportFault {
    Records(ApiError),
    Place(BlobError),
    Packing(io::Error),
}

impl From<ApiError> for ExportFault {
    fn from(error: ApiError) -> Self {
        Self::Records(error)
    }
}

impl From<BlobError> for ExportFault {
    fn from(error: BlobError) -> Self {
        Self::Place(error)
    }
}

impl From<io::Error> for ExportFault {
    fn from(error: io::Error) -> Self {
        Self::Packing(error)
    }
}

impl ExportFault {
    /// Says nothing of a record.
    fn text(&self) -> String {
        match self {
            Self::Records(error) => error.to_string(),
            Self::Place(error) => error.to_string(),
            Self::Packing(error) => error.to_string(),
        }
    }
}

impl ScheduledExports {
    /// Starts the task on the calling runtime; none without an export.
    ///
    /// # Errors
    /// When a folder cannot be created, or the environment names no bucket.
    pub fn start(
        services: &Arc<Services>,
        exports: &[ExportSettings],
        metrics: &Arc<Metrics>,
    ) -> Result<Self, BlobError> {
        let exports = exports.iter().map(open);
        let exports: Vec<DailyExport> = exports.collect::<Result<_, _>>()?;
        if exports.is_empty() {
            return Ok(Self(None));
        }
        let task = run(services.clone(), exports, metrics.clone());
        Ok(Self(Some(tokio::spawn(task))))
    }

    /// Ends the task, also in the middle of an object, of which nothing is seen: the next start writes it.
    pub async fn stop(self) {
        if let Some(task) = self.0 {
            task.abort();
            // Its only outcome is that it was aborted.
            let _ = task.await;
        }
    }
}

fn open(export: &ExportSettings) -> Result<DailyExport, BlobError> {
    let store = match &export.place {
        ExportPlace::Bucket { name, prefix } => ExportStore::bucket(name, prefix, &export.name)?,
        ExportPlace::Folder(folder) => ExportStore::local(&folder.join(&export.name))?,
    };
    Ok(DailyExport {
        settings: export.clone(),
        store,
    })
}

/// Writes what is missing, again and again until the process stops it.
async fn run(services: Arc<Services>, exports: Vec<DailyExport>, metrics: Arc<Metrics>) {
    loop {
        for export in &exports {
            write_missing(&services, export, &metrics).await;
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// Writes what is missing, the oldest day first. After a failure the others of this export wait for the next look.
async fn write_missing(services: &Services, export: &DailyExport, metrics: &Metrics) {
    let end = day_of(now_ms() - SETTLE_MS);
    for day in end - i64::from(export.settings.days)..end {
        let ended = match export.store.has(&object_name(day)).await {
            Ok(true) => continue,
            Ok(false) => write_day(services, export, day).await,
            Err(error) => Err(error.into()),
        };
        let failure = ended.err().map(|fault| fault.text());
        let has_failed = failure.is_some();
        RecordExportEnded {
            export: &export.settings.name,
            object: &object_name(day),
            failure,
        }
        .emit(metrics);
        if has_failed {
            return;
        }
    }
}

/// What the object of a day is called, such as `2026-11-29.jsonl.gz`.
fn object_name(day: i64) -> String {
    let midnight = jiff::Timestamp::from_millisecond(day.saturating_mul(DAY_MS));
    let midnight = midnight.unwrap_or_default().to_string();
    let date = midnight.split('T').next().unwrap_or_default();
    format!("{date}.jsonl.gz")
}

/// Writes the records of a day, counted since 1970, the newest first.
pub(in crate::analysis::api) async fn write_day(
    services: &Services,
    export: &DailyExport,
    day: i64,
) -> Result<(), ExportFault> {
    let mut upload = export.store.begin(&object_name(day)).await?;
    match write_records(services, &export.settings, day, &mut upload).await {
        Ok(()) => Ok(upload.finish().await?),
        Err(fault) => {
            upload.abort().await;
            Err(fault)
        }
    }
}

async fn write_records(
    services: &Services,
    settings: &ExportSettings,
    day: i64,
    upload: &mut ExportUpload,
) -> Result<(), ExportFault> {
    let caller = Caller::scheduled_export(&settings.name);
    let mut filter = filter_of(settings, day);
    let begun = services.records.begin_export(&caller, &filter, "jsonl");
    let begun = begun.await?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let mut count = 0;
    loop {
        let page = services.records.export_page(&begun, filter.clone()).await?;
        for record in &page.records {
            let line = serde_json::to_vec(&Whole::from(record)).map_err(io::Error::other)?;
            packed.write_all(&line)?;
            packed.write_all(b"\n")?;
        }
        count += page.records.len() as u64;
        upload.write(&std::mem::take(packed.get_mut())).await?;
        filter.before = page.next_before;
        if filter.before.is_none() {
            break;
        }
    }
    upload.write(&packed.finish()?).await?;
    services.records.end_export(&begun, count).await?;
    Ok(())
}

fn filter_of(settings: &ExportSettings, day: i64) -> RecordFilter {
    let named = |word: &str| {
        let mut verdicts = VerdictFilter::ALL.into_iter();
        verdicts.find(|verdict| verdict.as_str() == word)
    };
    let start = day.saturating_mul(DAY_MS);
    RecordFilter {
        application_id: settings.application,
        from_ms: Some(start),
        to_ms: Some(start.saturating_add(DAY_MS)),
        verdict: settings.verdict.and_then(named),
        kind: settings.kind.clone(),
        limit: PAGE,
        ..RecordFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_by_their_day_and_every_verdict_of_the_configuration_is_one_of_the_api() {
        assert_eq!(object_name(0), "1970-01-01.jsonl.gz");
        assert_eq!(object_name(19_675), "2023-11-14.jsonl.gz");
        for verdict in VerdictFilter::ALL {
            let settings = ExportSettings {
                name: "e".to_owned(),
                place: ExportPlace::Folder("f".into()),
                application: None,
                verdict: Some(verdict.as_str()),
                kind: None,
                days: 1,
            };
            let filter = filter_of(&settings, 1);
            assert_eq!(filter.verdict, Some(verdict));
            assert_eq!(
                (filter.from_ms, filter.to_ms),
                (Some(DAY_MS), Some(2 * DAY_MS))
            );
        }
    }
}

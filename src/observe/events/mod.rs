//! What happened, one struct for each event: `emit` writes the log line and updates the metric together.
//! No event carries a body, a key or personal data.

mod calls;
mod clock;
mod exports;
mod limits;
mod outputs;
mod policy;
mod remote;
mod retention;
mod siem;
mod spool;
mod store;
mod turns;
mod upgrades;
mod upstreams;

pub use super::labels::{ClearTextTarget, LinesLost, SpansLost};
pub use calls::{
    AttachmentsAbandoned, AttachmentsEnded, CallEnded, ConnectionEnded, HeartbeatSent, StreamAsked,
    TokensUsed, ToolPartsOmitted, Unreplayed, UpstreamRetried,
};
pub use clock::{ClockDoubted, ClockJumped};
pub use exports::RecordExportEnded;
pub use limits::{
    AcceptFailed, AcceptPaused, BudgetRefused, BudgetWarned, CallRefused, CallerUnknown,
    Overloaded, SpilledEarly,
};
pub use outputs::{AccessLinesLost, ClearTextSecret, ExportFailed, SpansDropped, SpansExported};
pub use policy::{Blocked, PromptRedacted, Unchecked, Unrestored};
pub use remote::{CuesOnly, RemoteCalled, RemoteHealthChanged};
pub use retention::{AboveItsPart, RemovedBy, RetentionRan};
pub use siem::{SiemBack, SiemEventsLeft, SiemFailed};
pub use spool::{
    DeadLettersLost, RecordDelayed, RecordFinished, SpoolAcknowledgementsDamaged, SpoolDamaged,
    SpoolDiskFailed, SpoolLost, SpoolRecordsDamaged, SpoolThreadPanicked, log_last_spool_losses,
    log_spool_losses,
};
pub use store::{CostNamesFull, FileStorageFailed, IdReused, StoreFailed};
pub use turns::AnalysisRefused;
pub use upgrades::{HandedOver, ReloadEnded, UpgradeEnded};
pub use upstreams::{FailedOver, UpstreamHealthChanged};

//! `monitor demo-data`: fills a store with invented exchanges, by the same checks as those of gateways, so that every
//! page of the web UI has something to show.

mod dice;
mod exchange;
mod people;
mod plan;
mod texts;

use crate::analysis::{ApiError, ApplicationEdit, Caller, EarlierRecord, EditPart, Services};
use crate::app::store::tokens::with_service;
use crate::app::transfer::progress::Progress;
use crate::config::Settings;
use crate::observe::clock::calendar_ms;
use anyhow::{Result, bail};
use exchange::{Exchange, Outcome, Place};
use futures_util::future::try_join_all;
use monitor_model::ApplicationId;
use people::App;
use plan::PlanRequest;

/// Records that may be on their way to the store at once.
const WAITING: usize = 256;
const DESCRIPTION: &str = "Invented people and messages of `monitor demo-data`.";
const HAS_RECORDS: &str = "the store has records already: name another data folder or database (--data-dir, --config), \
     or add the data set to them with --force";

/// What `monitor demo-data` does.
#[derive(Clone, Copy, Debug)]
pub struct DemoDataRequest {
    /// Days that end with today.
    pub days: u16,
    /// The same seed gives the same data on the same day.
    pub seed: u64,
    /// Fill a store that has records, too.
    pub force: bool,
}

/// Fills the configured store; gives what to print.
///
/// # Errors
/// When the store has records already, or cannot be opened or written.
pub fn fill_demo_data(settings: &Settings, request: DemoDataRequest) -> Result<String> {
    let plan = plan::exchanges(PlanRequest {
        days: i64::from(request.days),
        now_ms: calendar_ms(),
        seed: request.seed,
    });
    let is_filled = with_service(settings, async |services| {
        let caller = Caller::command_line();
        if !request.force && services.records.has_records(&caller).await? {
            return Ok(false);
        }
        let mut filling = Filling::begin(services, caller).await?;
        filling.add_all(&plan, request.seed).await?;
        Ok(true)
    })?;
    if !is_filled {
        bail!(HAS_RECORDS);
    }
    Ok(format!(
        "demo data: {} exchanges of {} days in {} applications, the names of which begin with \"Demo data\"\n",
        plan.len(),
        request.days,
        App::ALL.len()
    ))
}

/// A store that is being filled.
struct Filling<'s> {
    services: &'s Services,
    caller: Caller,
    applications: Vec<Application>,
    /// Records that may not be durable yet.
    waiting: Vec<EarlierRecord>,
}

struct Application {
    app: App,
    id: ApplicationId,
}

impl<'s> Filling<'s> {
    async fn begin(services: &'s Services, caller: Caller) -> Result<Self, ApiError> {
        let mut applications = Vec::with_capacity(App::ALL.len());
        for app in App::ALL {
            let edit = ApplicationEdit {
                name: Some(app.name().to_owned()),
                description: Some(DESCRIPTION.to_owned()),
                rules: Some(EditPart::Replace(app.rules())),
                policy: Some(EditPart::Replace(app.policy())),
            };
            let made = services.admin.create_application(&caller, None, edit);
            let id = made.await?.id;
            applications.push(Application { app, id });
        }
        Ok(Self {
            services,
            caller,
            applications,
            waiting: Vec::with_capacity(WAITING),
        })
    }

    async fn add_all(&mut self, plan: &[Exchange], seed: u64) -> Result<(), ApiError> {
        let mut progress = Progress::begin("demo data, exchanges", plan.len() as u64);
        for (number, exchange) in plan.iter().enumerate() {
            self.add(exchange, &format!("demo-{seed}-{number:05}"))
                .await?;
            progress.add(1);
        }
        self.settle().await?;
        progress.end();
        Ok(())
    }

    /// The messages of an exchange; one that is blocked has no answer.
    async fn add(&mut self, exchange: &Exchange, id: &str) -> Result<(), ApiError> {
        let mut applications = self.applications.iter();
        let own = applications.find(|one| one.app == exchange.app);
        let application = own.ok_or(ApiError::Internal)?.id;
        let place = Place { application, id };
        let ingest = &self.services.ingest;
        let prompt = exchange.prompt(place);
        let prompt = ingest.process_earlier(&self.caller, prompt).await?;
        let is_blocked = prompt.blocked && exchange.outcome != Outcome::Unchecked;
        self.waiting.push(prompt);
        if !is_blocked {
            let answer = exchange.answer(place);
            let answer = ingest.process_earlier(&self.caller, answer).await?;
            self.waiting.push(answer);
        }
        if self.waiting.len() >= WAITING {
            self.settle().await?;
        }
        Ok(())
    }

    /// Waits until all records are durable.
    async fn settle(&mut self) -> Result<(), ApiError> {
        try_join_all(self.waiting.drain(..).map(|record| record.durable)).await?;
        Ok(())
    }
}

//! Which of the wanted settings a running process can take over, and which need a new process.

use crate::config::Settings;

/// What the process can run with: the wanted settings, with those kept that only a new process can
/// change; their names where they differ.
pub(crate) fn merge(running: &Settings, wanted: Settings) -> (Settings, Vec<&'static str>) {
    let mut merge = Merge {
        running,
        next: wanted,
        waiting: Vec::new(),
    };
    merge.keep_of_the_gateway();
    merge.keep_of_the_analysis();
    merge.keep_sources();
    (merge.next, merge.waiting)
}

/// The keys as the file names them: those of an analysis server are at its top level.
pub(crate) fn named(keys: &[&str], beside_gateway: bool) -> String {
    let key = |key: &&str| match beside_gateway {
        true => (*key).to_owned(),
        false => key.strip_prefix("analysis.").unwrap_or(key).to_owned(),
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

struct Merge<'a> {
    running: &'a Settings,
    next: Settings,
    waiting: Vec<&'static str>,
}

macro_rules! keep {
    ($merge:ident $($name:literal $($part:ident).+;)*) => {$(
        if $merge.next.$($part).+ != $merge.running.$($part).+ {
            $merge.waiting.push($name);
            $merge.next.$($part).+ = $merge.running.$($part).+.clone();
        }
    )*};
}

impl Merge<'_> {
    fn keep_of_the_gateway(&mut self) {
        keep! { self
            "data_dir" data_dir;
            "core_files" core_files;
            "listen" gateway.listen;
            "operations" gateway.operations;
            "monitor" gateway.monitor;
            "limits.threads" gateway.limits.threads;
            "limits.upstream_idle_connections" gateway.limits.upstream_idle_connections;
            "shutdown" gateway.shutdown;
            "queue" gateway.queue;
            "spool.dir" gateway.spool.dir;
            "spool.max_bytes" gateway.spool.max_bytes;
            "spool.max_age" gateway.spool.max_age;
            "spool.max_dead_bytes" gateway.spool.max_dead_bytes;
            "spool.encryption" gateway.spool.encryption;
            "files" gateway.files;
            "store" gateway.store;
        }
    }

    fn keep_of_the_analysis(&mut self) {
        keep! { self
            "analysis.listen" analysis.listen;
            "analysis.operations" analysis.operations;
            "analysis.trusted_proxies" analysis.trusted_proxies;
            "analysis.cors" analysis.cors;
            "analysis.database" analysis.database;
            "analysis.store" analysis.store;
            "analysis.retention" analysis.retention;
            "analysis.max_body" analysis.max_body;
            "analysis.first_token" analysis.first_token;
            "analysis.services" analysis.services;
            "analysis.detect" analysis.detect;
            "analysis.blobs" analysis.blobs;
            "analysis.attachments" analysis.attachments;
            "analysis.limits" analysis.limits;
            "analysis.limits" analysis.requests_per_second;
            "analysis.limits" analysis.queue;
            "analysis.limits" analysis.analyzed_bytes;
            "analysis.judge" analysis.judge;
            "analysis.checks" analysis.checks;
            "analysis.sign_in" analysis.require_second_factor;
            "analysis.sign_in" analysis.oidc;
            "analysis.siem" analysis.siem;
            "analysis.exports" analysis.exports;
        }
        // Several settings have the name of one section.
        self.waiting.dedup();
        // Prices are for the records that come in from now on, alerts for the next look at their rules.
        let prices = std::mem::take(&mut self.next.analysis.prices);
        let alerts = std::mem::take(&mut self.next.analysis.alerts);
        self.next.analysis.prices = self.running.analysis.prices.clone();
        self.next.analysis.alerts = self.running.analysis.alerts.clone();
        // Any other key of the section.
        keep! { self "analysis" analysis; }
        self.next.analysis.prices = prices;
        self.next.analysis.alerts = alerts;
    }

    fn keep_sources(&mut self) {
        // A list in the file is in force or it is not; which store there is stays as it was.
        let has_list = |settings: &Settings| !settings.gateway.applications.is_empty();
        if has_list(&self.next) != has_list(self.running) {
            self.waiting.push("applications");
            let kept = &self.running.gateway.applications;
            self.next.gateway.applications.clone_from(kept);
        }
        // Without a model server there is the demo model, which starts with the process.
        let has_upstream = |settings: &Settings| settings.gateway.upstream.url.is_some();
        if has_upstream(&self.next) != has_upstream(self.running) {
            self.waiting.push("upstream.url");
            self.next.gateway.upstream = self.running.gateway.upstream.clone();
        }
    }
}

//! Where values come from: the command line, the environment, the YAML file.

use super::reading::document::Document;
use super::role::Role;

/// Values of the command line, as typed; they win over everything else.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--listen`: the gateway's listeners, or the analysis server's in `monitor analysis`.
    pub listen: Option<String>,
    /// `--upstream-url`: URL of the model server.
    pub upstream_url: Option<String>,
    /// `--monitor-url`: URL of the monitoring backend.
    pub monitor_url: Option<String>,
    /// `--data-dir`: data folder of the service.
    pub data_dir: Option<String>,
}

/// Looks up an environment variable by name. The process passes its own environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The sources of values.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) role: Role,
    pub(crate) document: Option<&'a Document>,
    pub(crate) overrides: &'a Overrides,
    pub(crate) env: Environment<'a>,
}

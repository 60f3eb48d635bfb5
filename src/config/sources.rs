//! Where values come from: the command line, the environment, the YAML file.

use super::reading::yaml::Document;
use super::role::Role;

/// What the command line sets, as it was typed; it wins over everything else.
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

/// Where variables come from: name in, value out. The process hands over its own environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where values can come from.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) role: Role,
    pub(crate) document: Option<&'a Document>,
    pub(crate) overrides: &'a Overrides,
    pub(crate) env: Environment<'a>,
}

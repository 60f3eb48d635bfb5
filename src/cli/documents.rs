//! `monitor openapi`, and the hidden commands that the program calls itself.

use super::failure::Failure;
use super::output::print;
use crate::analysis::documents::{self, Document};
use crate::config::{AccessLogSettings, LogFormat, LogSettings};
use crate::{analysis, app, gateway, observe};
use clap::Args;
use std::ffi::OsString;
use std::net::SocketAddr;

#[derive(Debug, Args)]
pub(super) struct OpenapiArgs {
    /// Print the analysis API's document instead.
    #[arg(long)]
    pub(super) analysis: bool,
}

#[derive(Debug, Args)]
pub(super) struct DocumentArgs {
    /// Format of the file on standard input.
    pub(super) format: Document,
}

#[derive(Debug, Args)]
pub(super) struct DetachedArgs {
    /// Path of the program.
    pub(super) program: OsString,
    /// Arguments of the program.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4300")]
    pub(super) listen: SocketAddr,
}

pub(super) fn openapi(args: &OpenapiArgs) -> Result<(), Failure> {
    print(match args.analysis {
        true => analysis::openapi_json(),
        false => gateway::docs::openapi_json(),
    })
}

pub(super) fn read_document(args: DocumentArgs) -> Result<(), Failure> {
    let read = documents::read_document(args.format);
    read.map_err(|error| Failure::Runtime(error.into()))
}

pub(super) fn start_detached(args: &DetachedArgs) -> Result<(), Failure> {
    Ok(app::start_detached(&args.program, &args.arguments)?)
}

pub(super) fn demo_upstream(args: &DemoArgs) -> Result<(), Failure> {
    observe::logging::init(&LogSettings {
        level: "info".to_owned(),
        format: LogFormat::Text,
        bytes_per_second: LogSettings::BYTES_PER_SECOND,
        access: AccessLogSettings::default(),
    });
    Ok(app::run_demo_upstream(args.listen)?)
}

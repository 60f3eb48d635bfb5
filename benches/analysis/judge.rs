//! The judge of custom policies in this process, against one that answers at once: what a verdict that
//! is remembered costs, and what one that is asked for.

use super::{Scale, message};
use bench_support::results::{Table, percentile};
use monitor_detect::custom_policy::Judge;
use monitor_detect::rules::CustomPolicy;
use monitor_gateway::config::{BaseUrl, CallLimits, JudgePlace, JudgeSettings, ResponseFormat};
use monitor_gateway::judge::ModelJudge;
use monitor_gateway::observe::Metrics;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::judge::Judge as Server;

const SECONDS: Duration = Duration::from_secs(10);

pub(crate) fn run(scale: &Scale, table: &mut Table) {
    let server = Server::flagging("nothing of that kind");
    let base = BaseUrl {
        tls: false,
        host: server.0.address().ip().to_string(),
        port: server.0.address().port(),
        prefix: String::new(),
    };
    let settings = JudgeSettings {
        place: JudgePlace::Url(base.clone()),
        model: "judge".to_owned(),
        api_key: None,
        limits: CallLimits {
            timeout: SECONDS,
            probe_interval: SECONDS,
            concurrency: 8,
            queue: 64,
        },
        cache_entries: 10_000,
        cache_ttl: SECONDS * 60,
        chunk: 24 << 10,
        max_text: 192 << 10,
        response_format: ResponseFormat::JsonObject,
    };
    let policies: Vec<_> = ["loans", "weapons", "politics"]
        .map(|name| CustomPolicy {
            name: name.to_owned(),
            prompt: format!("Do not discuss {name} or ask where to get them."),
        })
        .into();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let judge = ModelJudge::new(settings, &base, Arc::new(Metrics::new().unwrap())).unwrap();
        let (mut asked, mut remembered) = (Vec::new(), Vec::new());
        for number in 0..scale.messages.min(2_000) {
            let text = message(number);
            for taken in [&mut asked, &mut remembered] {
                let begin = Instant::now();
                let ruling = judge.judge(&policies, &text).await;
                taken.push(begin.elapsed());
                assert!(ruling.failures.is_empty() && ruling.policies.len() == 3);
            }
        }
        let mut add = |what, taken: &mut Vec<Duration>, part, goal| {
            table.add("judge", what, percentile(taken, part), goal);
        };
        add("1 KiB, remembered, p50", &mut remembered, 0.5, "≤ 20 µs");
        add("1 KiB, remembered, p99", &mut remembered, 0.99, "");
        add("1 KiB, asked, p50", &mut asked, 0.5, "");
    });
}

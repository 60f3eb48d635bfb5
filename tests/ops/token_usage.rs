//! The metrics of OpenTelemetry's conventions for generative AI (AGENT_ROUTES 3): tokens by API, as model servers count
//! them in whole answers and in streams, and how long calls of models take.

use super::trace_apis::{apis, streaming};
use support::backend::{Backend, verdict};
use support::eventually;
use support::fault::refusing_address;
use support::request::{CHAT, EMBEDDINGS, HELLO, Request};
use support::stack::{Builder, Stack};
use support::upstream::{Upstream, json};

const APPLICATION: &str = "57100000-0000-4000-8000-000000000008";

/// `sum` or `count`, by provider and type.
fn series(part: &str, provider: &str, kind: &str) -> String {
    format!(
        "gen_ai_client_token_usage_{part}{{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"{provider}\",gen_ai_token_type=\"{kind}\"}}"
    )
}

fn recording(upstream: &Upstream, backend: &Backend) -> Builder {
    Stack::gateway().upstream(upstream).monitor(backend)
}

/// Waits until the tokens of one call are counted, and no others.
#[track_caller]
fn await_one_call(stack: &Stack, provider: &str) {
    let count = |kind| stack.metric(&series("count", provider, kind));
    eventually("the tokens are counted", || {
        (count("output") > 0.0).then_some(())
    });
    let sum = |kind| stack.metric(&series("sum", provider, kind));
    assert_eq!((count("input"), count("output")), (1.0, 1.0), "{provider}");
    assert_eq!((sum("input"), sum("output")), (12.0, 7.0), "{provider}");
    let other = match provider {
        "openai" => "anthropic",
        _ => "openai",
    };
    assert_eq!(stack.metric(&series("count", other, "input")), 0.0);
}

#[test]
fn tokens_of_recorded_calls_are_counted_by_api() {
    for api in apis() {
        for streams in [false, true] {
            let upstream = match streams {
                true => streaming(&api.events),
                false => Upstream::json(200, &api.whole.to_string()),
            };
            let backend = Backend::start();
            let stack = recording(&upstream, &backend).start();
            let mut body = api.request.clone();
            body["stream"] = streams.into();
            let call = Request::post(api.path, body.to_string());
            assert_eq!(stack.call(&call).status(), 200, "{}", api.path);
            await_one_call(&stack, api.provider);
        }
    }
}

#[test]
fn an_answer_that_is_checked_is_counted_once() {
    for api in apis() {
        let upstream = Upstream::json(200, &api.whole.to_string());
        let backend = Backend::judging(|_| verdict(&[]));
        let stack = recording(&upstream, &backend).yaml(&format!(
            "applications:\n- {{id: {APPLICATION}, app_mode: sync, phrase: no, replace_response: true}}"
        ));
        let stack = stack.start();
        let call = Request::post(api.path, api.request.to_string());
        let call = call.header("X-Application-Id", APPLICATION);
        assert_eq!(stack.call(&call).status(), 200, "{}", api.path);
        await_one_call(&stack, api.provider);
    }
}

/// The number and the sum of the seconds of one of the two histograms.
fn durations(
    stack: &Stack,
    side: &str,
    (operation, provider, error): (&str, &str, &str),
) -> [f64; 2] {
    let name = match side {
        "client" => "gen_ai_client_operation_duration_seconds",
        _ => "gen_ai_server_request_duration_seconds",
    };
    let labels = format!(
        "error_type=\"{error}\",gen_ai_operation_name=\"{operation}\",gen_ai_provider_name=\"{provider}\""
    );
    ["count", "sum"].map(|part| stack.metric(&format!("{name}_{part}{{{labels}}}")))
}

/// Waits until so many calls are counted; the seconds of the model servers and of the calls.
#[track_caller]
fn await_durations(
    stack: &Stack,
    labels: (&str, &str, &str),
    [client, server]: [f64; 2],
) -> [f64; 2] {
    let counted = || (durations(stack, "server", labels)[0] >= server).then_some(());
    eventually("the calls are counted", counted);
    let (model, call) = (
        durations(stack, "client", labels),
        durations(stack, "server", labels),
    );
    assert_eq!((model[0], call[0]), (client, server), "{labels:?}");
    [model[1], call[1]]
}

#[test]
fn the_time_of_model_calls_is_measured_by_api() {
    for (path, body, operation, provider) in [
        (CHAT, HELLO, "chat", "openai"),
        (
            "/v1/responses",
            r#"{"model":"m","input":"x"}"#,
            "chat",
            "openai",
        ),
        (
            "/v1/messages",
            r#"{"model":"m","messages":[]}"#,
            "chat",
            "anthropic",
        ),
        (
            "/v1/completions",
            r#"{"model":"m","prompt":"x"}"#,
            "text_completion",
            "openai",
        ),
        (
            EMBEDDINGS,
            r#"{"model":"m","input":"x"}"#,
            "embeddings",
            "openai",
        ),
    ] {
        let upstream = Upstream::answering(|request| match request.body.ends_with(b" ") {
            true => json(500, "{}"),
            false => json(200, "{}"),
        });
        let stack = Stack::before(&upstream);
        let good = (operation, provider, "");
        assert_eq!(durations(&stack, "client", good), [0.0, 0.0], "{path}");
        assert_eq!(stack.call(&Request::post(path, body)).status(), 200);
        let [model, call] = await_durations(&stack, good, [1.0, 1.0]);
        assert!(0.0 < model && model <= call, "{path}: {model} of {call}");
        // A call that reaches no model server has no time of one.
        let keyless = Request::post(path, body).without_key();
        assert_eq!(stack.call(&keyless).status(), 401);
        await_durations(&stack, (operation, provider, "refused"), [0.0, 1.0]);
        let failing = Request::post(path, format!("{body} "));
        assert_eq!(stack.call(&failing).status(), 500, "{path}");
        await_durations(&stack, (operation, provider, "upstream_status"), [1.0, 1.0]);
        await_durations(&stack, good, [1.0, 1.0]);
    }
}

#[test]
fn what_a_policy_answers_is_no_error_and_no_call_of_the_model() {
    let (upstream, backend) = (
        Upstream::ok(),
        Backend::judging(|_| verdict(&["guardrails"])),
    );
    let policy = format!("applications:\n- {{id: {APPLICATION}, app_mode: sync, phrase: no}}");
    let stack = recording(&upstream, &backend).yaml(&policy).start();
    let call = Request::chat(HELLO).header("X-Application-Id", APPLICATION);
    assert_eq!(stack.call(&call).status(), 200);
    upstream.assert_untouched();
    await_durations(&stack, ("chat", "openai", ""), [0.0, 1.0]);
}

#[test]
fn a_model_server_that_cannot_be_reached_is_an_error_of_the_call() {
    let stack = Stack::gateway().env("UPSTREAM_URL", format!("http://{}", refusing_address()));
    let stack = stack.start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
    await_durations(&stack, ("chat", "openai", "gateway_error"), [1.0, 1.0]);
}

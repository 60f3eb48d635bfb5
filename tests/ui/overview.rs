//! The overview, the status page and the gaps: what they say against what came, and who may look.

use crate::accounts::colleague;
use crate::defence::add_application;
use crate::records::{keep, keeping};
use crate::world::{administrator, administrators_browser};
use serde_json::{Value, json};
use support::KEY;
use support::api::authorised;
use support::eventually;
use support::request::Request;
use support::stack::Stack;
use support::visitor::Visitor;

/// Text without the marks of its elements and with plain spaces.
fn words(page: &str) -> String {
    let tags = regex::Regex::new("<[^>]*>").unwrap();
    let text = tags.replace_all(page, " ").replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number of the API's statistics, all stages and applications together.
fn counted(stack: &Stack, name: &str) -> u64 {
    let days = stack.analysis("/statistics", KEY).json();
    let days = days["days"].as_array().unwrap();
    days.iter().map(|day| day[name].as_u64().unwrap()).sum()
}

fn chat(stack: &Stack, application: &str, text: &str) {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let answer = Request::chat(body.to_string())
        .header("X-Application-Id", application)
        .call(stack.gateway_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[test]
fn the_overview_shows_what_came_through_the_gateway() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let orders = keeping(&stack, "orders");
    chat(
        &stack,
        &orders,
        "write to ivan@example.org and eve@example.org",
    );
    chat(&stack, &orders, "harmless");
    chat(&stack, &stack.application_id(), "hello");
    let total = eventually("every record", || {
        (counted(&stack, "messages") >= 5).then(|| counted(&stack, "messages"))
    });
    let (blocked, tokens) = (counted(&stack, "blocked"), counted(&stack, "tokens"));
    assert_eq!(blocked, 1);
    for period in ["24h", "7d", "30d"] {
        let page = words(&admin.get(&format!("/ui/overview?period={period}")).text());
        for part in [
            format!("Messages {total} prompts"),
            format!("Tokens {tokens} "),
            format!("Blocked {blocked} "),
            "EMAILS 2".to_owned(),
            "SQLite".to_owned(),
        ] {
            assert!(page.contains(&part), "{part} in {page}");
        }
    }
    let own = admin.get("/ui/overview?application_id=orders").text();
    let default = admin
        .get(&format!(
            "/ui/overview?application_id={}",
            stack.application_id()
        ))
        .text();
    assert!(words(&own).contains("EMAILS 2") && !words(&default).contains("EMAILS 2"));
    assert!(words(&default).contains("Blocked 0 "));
    let way = regex::Regex::new(r#"/ui/records\?[^"]*verdict=blocked"#).unwrap();
    let way = way.find(&own).unwrap().as_str().replace("&amp;", "&");
    let records = admin.get(&way).text();
    assert_eq!(records.matches("data-record=").count(), 1, "{way}");
    for (wrong, field) in [
        ("application_id=nobody", "application_id"),
        ("from=2020-01-01T00:00&to=2020-01-02T00:00", "from"),
        ("to=2020-01-02T00:00", "to"),
        ("type=EMAILS", "type"),
        ("period=soon", "period"),
    ] {
        let page = admin.get(&format!("/ui/overview?{wrong}"));
        assert_eq!(page.status(), 422, "{wrong}");
        let page = page.text();
        assert!(
            page.contains("role=\"alert\"") && page.contains(field),
            "{wrong}: {page}"
        );
    }
}

#[test]
fn ui_a8_days_of_ones_choice_have_their_own_numbers_and_bars_lead_to_their_records() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let application = keeping(&stack, "orders");
    for text in ["write to ivan@example.org", "harmless"] {
        keep(
            &stack,
            "pre",
            &json!({"application_id": application, "message": text}),
        );
    }
    let day = |ago: i64| {
        let now = jiff::Timestamp::now().as_millisecond();
        let at = jiff::Timestamp::from_millisecond(now - ago * 86_400_000).unwrap();
        at.strftime("%Y-%m-%d").to_string()
    };
    // A day may end between the records and the page.
    let two = format!("/ui/overview?from={}&to={}", day(1), day(0));
    let page = admin.get(&two).text();
    assert!(words(&page).contains("Messages 2 prompts"), "{page}");
    assert!(page.contains("period before"), "{page}");
    let month = admin.get("/ui/overview?period=30d").text();
    assert!(!month.contains("period before"), "it is not kept that long");
    let today = format!("href=\"/ui/overview?from={0}&amp;to={0}\"", day(0));
    assert!(month.contains(&today), "{today} in {month}");
    let narrowed = admin.get(&format!("/ui/overview?from={0}&to={0}", day(0)));
    let hours = regex::Regex::new("href=\"(/ui/records\\?from=[^\"&]*&amp;to=[^\"]*)\" tabindex");
    let narrowed = narrowed.text();
    let mut found = 0;
    for hour in hours.unwrap().captures_iter(&narrowed) {
        let records = admin.get(&hour[1].replace("&amp;", "&")).text();
        found = found.max(records.matches("data-record=").count());
    }
    assert!(found > 0, "{narrowed}");
    for (wrong, field) in [
        (format!("from={}", day(40)), "from"),
        (format!("to={}", day(-2)), "to"),
        (format!("from={}&to={}", day(1), day(3)), "from"),
        ("from=soon".to_owned(), "from"),
    ] {
        let page = admin.get(&format!("/ui/overview?{wrong}"));
        assert_eq!(page.status(), 422, "{wrong}");
        let alert = format!("<code>{field}</code>");
        assert!(page.text().contains(&alert), "{wrong}");
    }
}

#[test]
fn a_new_server_leads_to_the_first_steps_and_one_with_records_to_the_overview() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let home = |visitor: &mut Visitor| {
        let answer = visitor.get("/ui");
        answer.head.header("location").unwrap().to_owned()
    };
    assert_eq!(home(&mut admin), "/ui/first-steps");
    keep(
        &stack,
        "pre",
        &json!({"application_id": stack.application_id(), "message": "hello"}),
    );
    assert_eq!(home(&mut admin), "/ui/overview");
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    assert_eq!(home(&mut developer), "/ui/applications");
}

#[test]
fn each_role_sees_its_pages_and_a_tenant_nothing_of_others() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (own, other) = (keeping(&stack, "own"), keeping(&stack, "other"));
    for id in [&own, &other] {
        let message = json!({"application_id": id, "message": format!("to {id}@example.org")});
        keep(&stack, "pre", &message);
    }
    keep(
        &stack,
        "pre",
        &json!({"application_id": other, "message": "more"}),
    );
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "administrator"), &own);
    let foreign = format!("/ui/overview?application_id={other}");
    let foreign_steps = format!("/ui/first-steps?application_id={other}");
    for (path, statuses) in [
        ("/ui/overview", [200, 200, 403, 200]),
        ("/ui/overview/chain", [200, 200, 403, 403]),
        ("/ui/status", [200, 200, 200, 403]),
        ("/ui/audit", [200, 403, 403, 200]),
        ("/ui/first-steps", [200, 200, 200, 200]),
        (foreign.as_str(), [200, 200, 403, 404]),
        (foreign_steps.as_str(), [200, 200, 200, 404]),
    ] {
        let visitors = [&mut admin, &mut analyst, &mut developer, &mut tenant];
        for (visitor, expected) in visitors.into_iter().zip(statuses) {
            assert_eq!(visitor.get(path).status(), expected, "{path}");
        }
    }
    assert_eq!(
        analyst
            .post("/ui/first-steps", &[("application_id", &own)])
            .status(),
        403,
        "an analyst makes no keys"
    );
    assert_eq!(
        tenant
            .post("/ui/first-steps", &[("application_id", &other)])
            .status(),
        404
    );
    let page = words(&tenant.get("/ui/overview").text());
    assert!(page.contains("Messages 1 prompts"), "{page}");
    let log = tenant.get("/ui/audit").text();
    assert!(log.contains(&own) && !log.contains(&other));
    let mut nobody = Visitor::new(stack.analysis_addr);
    for path in ["/ui/overview", "/ui/status", "/ui/audit", "/ui/first-steps"] {
        assert_eq!(nobody.get(path).status(), 303, "{path}");
    }
}

/// A record with a number of a gateway.
fn numbered(stack: &Stack, number: u64) {
    let chain = json!({"gateway": "6a1f0c52-7a0e-4c11-9a55-0000000000aa", "sequence": number,
        "previous": "0".repeat(64)});
    let body = json!({"application_id": stack.application_id(), "message": "numbered",
        "additional_parameters": {"request_id": format!("exchange {number}"), "chain": chain}});
    keep(stack, "pre", &body);
}

#[test]
#[ignore = "needs Chromium"]
fn contract_5_a_missing_record_is_seen_on_the_overview() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    for number in [1, 3] {
        numbered(&stack, number);
    }
    browser.open("/ui/overview");
    browser.wait_for("document.querySelector('#chain').dataset.loaded === '1'");
    let chain = browser.text("#chain");
    assert!(
        chain.contains("6a1f0c52") && chain.contains("gaps") && chain.contains("Missing: 2"),
        "{chain}"
    );
    numbered(&stack, 2);
    browser.open("/ui/overview/chain");
    let page = browser.text("main");
    assert!(!page.contains("Missing:"), "{page}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_status_page_tells_of_the_server_and_of_each_gateways_spool() {
    let server = Stack::analysis_server().start();
    let mut admin = administrator(&server);
    let page = words(&admin.get("/ui/status").text());
    for part in [
        "Version 4.1.0",
        "SQLite 3",
        "Schema version",
        "not configured",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(page.contains("No gateway has reported yet."));
    let upstream = support::upstream::Upstream::ok();
    let gateway = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", format!("http://{}", server.analysis_addr))
        .start();
    chat(&gateway, &server.application_id(), "hello");
    let page = eventually("the gateway's own word", || {
        let page = words(&admin.get("/ui/status").text());
        page.contains(" working ").then_some(page)
    });
    assert!(page.contains(" ago "), "{page}");
    let status: Value = gateway.operations("/status").json();
    assert_eq!(status["version"], "4.1.0");
    // It tells at most once a second, and of calls that have ended.
    let own = regex::Regex::new("Added latency: [0-9.]+ (µs|ms)").unwrap();
    eventually("what the gateway adds to a call", || {
        chat(&gateway, &server.application_id(), "hello");
        let page = words(&admin.get("/ui/overview").text());
        own.is_match(&page).then_some(())
    });
}

#[test]
fn a_report_of_a_gateway_comes_with_records() {
    let server = Stack::analysis_server().start();
    let mut admin = administrator(&server);
    let report = "id=00000000-0000-4000-8000-000000000007; version=4.1.0; records=7; bytes=7; oldest=7; \
                  dead=777; degraded=1";
    let mut with_report = |request: Request| {
        let request = authorised(request).header("X-Monitor-Gateway", report);
        assert_eq!(request.call(server.analysis_addr).status(), 200);
        words(&admin.get("/ui/status").text())
    };
    let page = with_report(Request::get("/records?limit=1"));
    assert!(page.contains("No gateway has reported yet."), "{page}");
    let body = json!({"application_id": server.application_id(), "message": "hello"});
    let page = with_report(Request::post("/process_request/", body.to_string()));
    assert!(page.contains("777"), "{page}");
}

#[test]
fn finds_of_applications_own_patterns_are_one_kind_of_all_of_them_together() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let custom =
        json!([{"name": "ORDER", "regex": "ORD-[0-9]+"}, {"name": "BADGE", "regex": "B-[0-9]+"}]);
    let rules = json!({"pre": {"dataclean": {"patterns": custom}}});
    let id = add_application(&stack, &json!({"name": "shop", "rules": rules}));
    let text = "orders ORD-1 and ORD-2 of B-7";
    keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": text}),
    );
    let all = admin.get("/ui/overview").text();
    assert!(words(&all).contains("custom patterns 3"), "{}", words(&all));
    assert!(!all.contains("type=custom") && !all.contains("ORDER"));
    let own = admin.get("/ui/overview?application_id=shop").text();
    assert!(words(&own).contains("ORDER 2") && own.contains("type=ORDER"));
}

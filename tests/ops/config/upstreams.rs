//! Groups of model servers (`upstreams`): what is refused, at its place and with the way out, and what is shown.

use super::files::pair;
use super::world::{Folder, check, line};

/// The lines of an `upstreams` list, the first of which is line 3 of the file.
fn checked(entries: &str) -> super::world::Run {
    let text = format!("upstream: {{url: \"http://m\"}}\nupstreams:\n{entries}");
    check("gateway", &text, &[])
}

/// Entries, and how the report begins. It has one line.
const REFUSED: [(&str, &str); 27] = [
    (
        "- {name: a, models: [m]}",
        "f.yaml:3: upstreams[0].url: is not set; it is the address of the model server",
    ),
    (
        "- {url: 'http://a', models: [m]}",
        "f.yaml:3: upstreams[0].name: is not set; logs and metrics name the group by it",
    ),
    (
        "- {name: a, url: 'http://a'}",
        "f.yaml:3: upstreams[0].routes: is not set; models is not set either, so the entry would take every call",
    ),
    (
        "- {name: a, url: 'http://a', routes: [], models: []}",
        "f.yaml:3: upstreams[0].routes: is not set; models is not set either",
    ),
    (
        "- {name: 'two words', url: 'http://a', models: [m]}",
        "f.yaml:3: upstreams[0].name: \"two words\" is not a plain word; allowed: up to 64 letters",
    ),
    (
        "- {name: 7, url: 'http://a', models: [m]}",
        "f.yaml:3: upstreams[0].name: is a number; allowed:",
    ),
    (
        "- {name: a, url: 'http://a', routes: [chats]}",
        "f.yaml:3: upstreams[0].routes[0]: \"chats\" is unknown; allowed: chat, completions, embeddings, messages, models, responses",
    ),
    (
        "- {name: a, url: 'http://a', models: ['*']}",
        "f.yaml:3: upstreams[0].models[0]: is every model; leave models out and name routes instead; allowed:",
    ),
    (
        "- {name: a, url: 'http://a', models: ['*-mini']}",
        "f.yaml:3: upstreams[0].models[0]: \"*-mini\" has a * before its end; allowed:",
    ),
    (
        "- {name: a, url: 'http://a', models: [m], timeout: soon}",
        "f.yaml:3: upstreams[0].timeout: \"soon\" is not a duration; allowed:",
    ),
    (
        "- name: a\n  url: http://a\n  models: [m]\n  timout: 3s",
        "f.yaml:6: upstreams[0].timout: is an unknown key; did you mean upstreams[0].timeout?",
    ),
    (
        "- name: a\n  url: http://a\n  models: [m]\n  health: {colour: red}",
        "f.yaml:6: upstreams[0].health.colour: is an unknown key; allowed: path, interval, timeout, unhealthy_after, healthy_after",
    ),
    (
        "- name: a\n  url: http://a\n  models: [m]\n  colour: red",
        "f.yaml:6: upstreams[0].colour: is an unknown key; allowed: name, routes, models, url, standby, timeout,",
    ),
    (
        "- http://a",
        "f.yaml:3: upstreams[0]: is text; allowed: a list of up to 64 groups of model servers, each {name, routes, models, url, …}",
    ),
    (
        "  a: {url: 'http://a', models: [m]}",
        "f.yaml:2: upstreams: is a group of keys; allowed: a list of up to 64 groups",
    ),
    (
        "- {name: a, url: 'http://a', models: [m]}\n- {name: a, url: 'http://b', models: [n]}",
        "f.yaml:4: upstreams[1].name: is also the name of upstreams[0]; allowed: a name of its own for each entry",
    ),
    (
        "- {name: a, url: 'http://a', models: [m, n, m]}",
        "f.yaml:3: upstreams[0].models: lists m twice; allowed: each once",
    ),
    (
        "- {name: a, url: 'http://a', routes: [chat, chat]}",
        "f.yaml:3: upstreams[0].routes: lists chat twice; allowed: each once",
    ),
    (
        "- {name: a, url: 'http://a', routes: [chat, embeddings], models: [m]}",
        "f.yaml:3: upstreams[0].models: has no effect on embeddings, whose calls the gateway forwards without knowing their model; give embeddings an entry without models",
    ),
    // The same twice; covered by a beginning, by a route, by two entries together.
    (
        "- {name: a, url: 'http://a', models: [m]}\n- {name: b, url: 'http://b', models: [m]}",
        "f.yaml:4: upstreams[1].models: gets no call: upstreams[0] (a) takes them all before; put this entry in front of that one, or remove one of them",
    ),
    (
        "- {name: a, url: 'http://a', models: ['gpt-*']}\n- {name: b, url: 'http://b', routes: [chat], models: [gpt-4, 'gpt-5*']}",
        "f.yaml:4: upstreams[1].models: gets no call: upstreams[0] (a) takes them all before",
    ),
    (
        "- {name: a, url: 'http://a', routes: [chat, messages]}\n- {name: b, url: 'http://b', routes: [messages]}",
        "f.yaml:4: upstreams[1].routes: gets no call: upstreams[0] (a) takes them all before",
    ),
    (
        "- {name: a, url: 'http://a', routes: [chat]}\n- {name: b, url: 'http://b', routes: [messages]}\n- {name: c, url: 'http://c', routes: [chat, messages], models: [m]}",
        "f.yaml:5: upstreams[2].models: gets no call: upstreams[0] (a) takes them all before",
    ),
    // One of several.
    (
        "- {name: a, url: 'http://a', models: ['gpt-*']}\n- {name: b, url: 'http://b', models: [gpt-4, o1]}",
        "f.yaml:4: upstreams[1].models: gpt-4 gets no call: upstreams[0] (a) takes it before; remove it from one of them, or put this entry in front of that one",
    ),
    (
        "- {name: a, url: 'http://a', routes: [chat]}\n- {name: b, url: 'http://b', routes: [chat, messages], models: [m]}",
        "f.yaml:4: upstreams[1].routes: chat gets no call: upstreams[0] (a) takes it before",
    ),
    // As of `upstream`.
    (
        "- {name: a, url: 'http://a', models: [m], standby: ['http://b', 'http://a']}",
        "f.yaml:3: upstreams[0].standby: lists a model server twice; allowed: each once",
    ),
    (
        "- {name: a, url: 'http://127.0.0.1:4100', models: [m]}",
        "f.yaml:3: upstreams[0].url: is this gateway's own listener; allowed: the model server's address",
    ),
];

#[test]
fn entries_that_cannot_be_meant_are_refused_with_the_way_out() {
    for (entries, expected) in REFUSED {
        let run = checked(entries);
        assert!(
            run.stderr.starts_with(expected),
            "{entries}\n{}instead of\n{expected}",
            run.stderr
        );
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (2, 1),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn entries_whose_calls_overlap_in_part_are_accepted_and_shown() {
    let run = checked(
        "- {name: first, url: 'https://a', routes: [messages]}\n\
         - {name: second, url: 'http://b', models: ['claude-*'], timeout: 5m}\n\
         - {name: third, url: 'http://c', routes: [chat], models: ['clau*', claude]}\n\
         - {name: vectors, url: 'http://b', routes: embeddings, standby: 'http://c'}\n",
    );
    assert_eq!(run.stderr, "");
    let shown = "first (messages) https://a:443, timeout 120s";
    assert_eq!(line(&run, "upstreams"), shown);
    for shown in [
        "second (claude-*) http://b:80, timeout 300s",
        "third (chat, clau*, claude) http://c:80, timeout 120s",
        "vectors (embeddings) http://b:80, timeout 120s",
    ] {
        assert!(run.stdout.contains(shown), "{}", run.stdout);
    }
    for empty in ["[]", "null"] {
        let text = format!("upstream: {{url: 'http://m'}}\nupstreams: {empty}");
        assert_eq!(check("gateway", &text, &[]).stderr, "");
    }
}

#[test]
fn upstream_stays_required_and_environment_variables_are_those_of_upstream() {
    let entries = "upstreams:\n- {name: a, url: 'http://a', models: [m]}";
    let run = check("gateway", entries, &[]);
    let expected = "configuration: upstream.url: is not set, and calls that no entry of upstreams takes go there; set UPSTREAM_URL";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    let env = [
        ("UPSTREAM_URL", "http://m"),
        ("GATEWAY_UPSTREAM_TIMEOUT", "7s"),
    ];
    let run = check("gateway", entries, &env);
    assert_eq!(line(&run, "upstream"), "http://m:80, timeout 7s");
    assert_eq!(line(&run, "upstreams"), "a (m) http://a:80, timeout 120s");
    assert_eq!(check("all", entries, &[]).stderr, "");
}

#[test]
fn certificate_files_of_an_entry_are_looked_at() {
    let folder = Folder::new();
    let (cert, key) = pair(&folder);
    let entry = |more: &str| checked(&format!("- {{name: a, models: [m], {more}}}"));
    let run = entry("url: 'https://a', ca: /nowhere.pem");
    let expected = "f.yaml:3: upstreams[0].ca: /nowhere.pem cannot be read";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    let run = entry(&format!("url: 'https://a', client_cert: {cert}"));
    let expected = "upstreams[0].client_key: is not set, but upstreams[0].client_cert is";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    let files = format!("client_cert: {cert}, client_key: {key}");
    let run = entry(&format!("url: 'http://a', {files}"));
    let expected = "f.yaml:3: upstreams[0].client_cert: is sent over https only";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    assert_eq!(
        entry(&format!("url: 'https://a', ca: {cert}, {files}")).stderr,
        ""
    );
}

#[test]
fn every_mistake_of_every_entry_is_reported_at_once() {
    let run = checked(
        "- {name: a b, url: x, models: [m]}\n- {name: c, url: 'http://c'}\n- {routes: [chat], http2: no}",
    );
    let found: Vec<&str> = run.stderr.lines().collect();
    let keys = [
        "f.yaml:3: upstreams[0].name: ",
        "f.yaml:3: upstreams[0].url: ",
        "f.yaml:4: upstreams[1].routes: ",
        "f.yaml:5: upstreams[2].http2: ",
        "f.yaml:5: upstreams[2].name: ",
        "f.yaml:5: upstreams[2].url: ",
    ];
    for key in keys {
        assert!(
            found.iter().any(|line| line.starts_with(key)),
            "{key} in {}",
            run.stderr
        );
    }
    assert_eq!((run.code, found.len()), (2, keys.len()), "{}", run.stderr);
}

#[test]
fn a_key_that_is_written_like_a_path_is_unknown() {
    for key in ["upstream.url", "upstreams[0]", "upstreams[0].url"] {
        let text = format!(
            "upstream: {{url: 'http://m'}}\nupstreams:\n- {{name: a, url: 'http://a', models: [m]}}\n'{key}': {{url: 'http://b'}}"
        );
        let run = check("gateway", &text, &[]);
        let expected = format!("f.yaml:4: {key}: is an unknown key; ");
        assert!(run.stderr.starts_with(&expected), "{key}: {}", run.stderr);
        assert_eq!(run.code, 2);
    }
}

#[test]
fn there_are_at_most_64_entries() {
    let entries = |count: usize| {
        let one = |number| format!("- {{name: a{number}, url: 'http://a', models: [m{number}]}}\n");
        checked(&(0..count).map(one).collect::<String>())
    };
    assert_eq!(entries(64).stderr, "");
    let run = entries(65);
    let expected = "f.yaml:2: upstreams: has too many entries; allowed: a list of up to 64 groups";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
}

//! The address of the web UI (`ui.public_url`): one-time links and single sign-on take it from the browser's
//! request where it is not set, which a start warns of once other machines can send such a request.

use support::fault::free_port;
use support::stack::Stack;

const WARNING: &str = "ui.public_url is not set and the web UI can be reached from other machines";

#[test]
fn a_start_warns_where_others_reach_the_ui_and_its_address_is_not_set() {
    for (listen, url, is_warned) in [
        ("0.0.0.0", None, true),
        ("0.0.0.0", Some("https://monitor.example"), false),
        ("127.0.0.1", None, false),
    ] {
        let start = || {
            let port = free_port();
            let url = url.map_or(String::new(), |url| {
                format!("ui: {{public_url: '{url}'}}\n")
            });
            let yaml = format!("listen: '{listen}:{port}'\n{url}");
            let stack = Stack::analysis_server().yaml(&yaml);
            stack.listening_by_yaml(port).try_start()
        };
        let stack = (0..5).find_map(|_| start()).expect("a free port");
        let text = stack.stderr();
        assert_eq!(
            text.contains(WARNING),
            is_warned,
            "{listen} {url:?}: {text}"
        );
    }
}

#[test]
fn a_gateway_alone_has_no_web_ui_to_warn_of() {
    let start = || {
        let port = free_port();
        let yaml = format!("listen: '0.0.0.0:{port}'\nupstream: {{url: 'http://127.0.0.1:9'}}");
        Stack::gateway()
            .yaml(&yaml)
            .listening_by_yaml(port)
            .try_start()
    };
    let stack = (0..5).find_map(|_| start()).expect("a free port");
    assert!(!stack.stderr().contains(WARNING));
}

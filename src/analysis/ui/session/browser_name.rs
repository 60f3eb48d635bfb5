//! What the list of sign-ins calls a browser: words of ours, whatever the browser sends.

/// A part of what browsers call themselves, and our name of it; the first one that is there counts.
type Names = [(&'static str, &'static str)];

const BROWSERS: &Names = &[
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("YaBrowser/", "Yandex Browser"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: &Names = &[
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// The browser and its system; None where neither is known.
pub(super) fn browser_name(agent: &str) -> Option<String> {
    let named = |names: &Names| {
        let found = names.iter().find(|(part, _)| agent.contains(*part));
        found.map(|(_, name)| *name)
    };
    match (named(BROWSERS), named(SYSTEMS)) {
        (Some(browser), Some(system)) => Some(format!("{browser}, {system}")),
        (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::browser_name;

    #[test]
    fn a_browser_has_a_short_name_and_nothing_that_it_sends_is_repeated() {
        let mozilla = "Mozilla/5.0 (X11; Linux x86_64";
        for (agent, expected) in [
            (
                format!("{mozilla}; rv:128.0) Gecko/20100101 Firefox/128.0"),
                Some("Firefox, Linux"),
            ),
            (
                format!("{mozilla}) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36 Edg/130.0"),
                Some("Edge, Linux"),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1"
                    .to_owned(),
                Some("Safari, iPhone"),
            ),
            ("Windows <script>".to_owned(), Some("Windows")),
            ("<b>unknown</b>".to_owned(), None),
        ] {
            assert_eq!(browser_name(&agent).as_deref(), expected, "{agent}");
        }
    }
}

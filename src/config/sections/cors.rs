//! The key `cors.origins`: the websites whose pages may call a listener's API from a browser.

use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::values::units::Form;
use crate::config::values::url;

const ALLOWED: &str =
    "origins such as https://app.example or http://localhost:3000, without a path";

/// Cross-origin resource sharing. By default no website may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorsSettings {
    /// As browsers write them: in lower case, without the scheme's own port.
    pub origins: Vec<String>,
}

/// `prefix` is that of the role's keys.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> CorsSettings {
    CorsSettings {
        origins: list(r, &format!("{prefix}cors.origins"), &origin()),
    }
}

fn origin() -> Form<String> {
    Form::new(ALLOWED, |text| {
        if text == "*" {
            return Err("is every website, and a page of any of them could then call from inside your network; list those that may".to_owned());
        }
        if text == "null" {
            return Err("is shared by local files and sandboxed pages of every website".to_owned());
        }
        let url = url::parse(text)?;
        if !url.prefix.is_empty() || text.ends_with('/') {
            return Err("has a path, which an origin has not".to_owned());
        }
        Ok(url.origin())
    })
    .text_only()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::origin;

    #[test]
    fn an_origin_is_kept_as_browsers_write_it() {
        for (text, kept) in [
            ("https://App.example", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("HTTP://app.example:80", "http://app.example"),
        ] {
            assert_eq!(origin().parse(text).unwrap(), kept);
        }
        for text in [
            "*",
            "null",
            "app.example",
            "https://app.example/",
            "https://app.example/page",
            "https://*.app.example",
            "https://u:p@app.example",
            "ftp://app.example",
        ] {
            assert!(origin().parse(text).is_err(), "{text}");
        }
    }
}

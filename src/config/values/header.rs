//! Values that become headers.

use super::units::Form;
use monitor_model::Secret;

/// A secret that travels in a header, never quoted. It holds what a header value may (RFC 9110 §5.5), without
/// the bytes beyond ASCII that servers read in different ways.
pub(crate) fn secret() -> Form<Secret> {
    let allowed = "visible ASCII characters and spaces, in quotes if digits only";
    Form::new(allowed, |text| {
        let fits = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        match text {
            "" => Err("is empty".to_owned()),
            _ if text.bytes().all(fits) => Ok(Secret::new(text)),
            _ => Err("contains a character that cannot be sent in a header".to_owned()),
        }
    })
    .text_only()
}

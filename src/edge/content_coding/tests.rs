//! Every coding there and back, what is malformed, and bounds.

#![allow(clippy::unwrap_used)]
use super::*;
use http::HeaderValue;
use std::io::Write;

fn headers(value: &str) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_str(value).unwrap())])
}

fn encoded(coding: Coding, text: &[u8]) -> Vec<u8> {
    let best = flate2::Compression::best;
    match coding {
        Coding::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), best());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
        Coding::Deflate => {
            let mut out = flate2::write::ZlibEncoder::new(Vec::new(), best());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
        Coding::Brotli => {
            let mut out = Vec::new();
            brotli::CompressorWriter::new(&mut out, 4096, 5, 22)
                .write_all(text)
                .unwrap();
            out
        }
        Coding::Zstd => zstd::encode_all(text, 1).unwrap(),
    }
}

/// Decodes in small steps.
fn decode(coding: Coding, encoded: &[u8], limit: u64) -> Result<Vec<u8>, Undecodable> {
    let mut decoding = Decoding::new(coding, encoded, limit)?;
    while !decoding.step(1000)? {}
    Ok(decoding.into_text())
}

#[test]
fn each_coding_gives_the_text_back_whatever_the_steps() {
    for length in [0, 1, 999, 1000, 1001, 30_000] {
        let text: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        for coding in Coding::ALL {
            let decoded = decode(coding, &encoded(coding, &text), 1 << 20);
            assert_eq!(decoded.as_deref(), Ok(&text[..]), "{coding:?} {length}");
        }
    }
}

#[test]
fn what_is_not_whole_or_has_more_behind_it_is_malformed() {
    let text = b"{\"messages\":[]}".repeat(100);
    for coding in Coding::ALL {
        let whole = encoded(coding, &text);
        let malformed = Err(Undecodable::Malformed(coding));
        for at in [0, 1, whole.len() / 2, whole.len() - 1] {
            assert_eq!(
                decode(coding, &whole[..at], 1 << 20),
                malformed,
                "{coding:?} {at}"
            );
        }
        for more in [&b"\0"[..], b"{}", &[b'x'; 10_000]] {
            let behind = [&whole[..], more].concat();
            assert_eq!(decode(coding, &behind, 1 << 20), malformed, "{coding:?}");
        }
        assert_eq!(decode(coding, &text, 1 << 20), malformed, "{coding:?}");
    }
}

#[test]
fn members_behind_each_other_are_one_text() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let both = [encoded(coding, b"{\"a\""), encoded(coding, b":1}")].concat();
        assert_eq!(decode(coding, &both, 1 << 20).unwrap(), b"{\"a\":1}");
    }
}

#[test]
fn deflate_without_its_zlib_frame_is_malformed() {
    let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(b"{\"messages\":[]}").unwrap();
    let raw = out.finish().unwrap();
    let malformed = Err(Undecodable::Malformed(Coding::Deflate));
    assert_eq!(decode(Coding::Deflate, &raw, 1 << 20), malformed);
}

#[test]
fn a_body_that_expands_too_far_ends_early() {
    let text = vec![b' '; 8 << 20];
    for coding in Coding::ALL {
        let bomb = encoded(coding, &text);
        assert!(bomb.len() * LARGEST_RATIO < text.len(), "{coding:?}");
        assert_eq!(decode(coding, &bomb, 1 << 30), Err(Undecodable::Expands));
        assert_eq!(decode(coding, &bomb, 1 << 10), Err(Undecodable::TooLarge));
    }
    let small = encoded(Coding::Gzip, &text[..ALWAYS_ALLOWED]);
    assert!(decode(Coding::Gzip, &small, 1 << 20).is_ok());
}

#[test]
fn windows_beyond_the_standards_are_malformed() {
    let large = [BROTLI_LARGE_WINDOW, 0x1e, 0x03];
    let malformed = Err(Undecodable::Malformed(Coding::Brotli));
    assert_eq!(decode(Coding::Brotli, &large, 1 << 20), malformed);
    let mut out = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    out.window_log(24).unwrap();
    out.include_contentsize(false).unwrap();
    out.write_all(&vec![b'a'; 20 << 20]).unwrap();
    let malformed = Err(Undecodable::Malformed(Coding::Zstd));
    assert_eq!(
        decode(Coding::Zstd, &out.finish().unwrap(), 1 << 30),
        malformed
    );
}

#[test]
fn one_coding_that_is_known_is_decoded() {
    assert_eq!(Coding::of(&HeaderMap::new()), Ok(None));
    for value in ["", "identity", "Identity, identity"] {
        assert_eq!(Coding::of(&headers(value)), Ok(None), "{value}");
    }
    for (value, expected) in [
        ("gzip", Coding::Gzip),
        ("X-GZip", Coding::Gzip),
        ("identity, br", Coding::Brotli),
        ("deflate", Coding::Deflate),
        ("zstd,", Coding::Zstd),
    ] {
        assert_eq!(Coding::of(&headers(value)), Ok(Some(expected)), "{value}");
    }
    for value in [
        "x",
        "compress",
        "gzip, gzip",
        "gzip, br",
        "gzip;q=1",
        "aes128gcm",
    ] {
        assert_eq!(Coding::of(&headers(value)), Err(UnknownCoding), "{value}");
    }
}

#[test]
fn a_body_is_decoded_in_one_step_whether_it_names_its_size_or_not() {
    let text: String = (0..100_000).map(|number| format!("{number},")).collect();
    let text = text.into_bytes();
    let in_members = [
        encoded(Coding::Gzip, &text[..9]),
        encoded(Coding::Gzip, &text[9..]),
    ];
    let mut bodies: Vec<_> = Coding::ALL
        .map(|coding| (coding, encoded(coding, &text)))
        .into();
    bodies.push((Coding::Gzip, in_members.concat()));
    for (coding, body) in bodies {
        let mut decoding = Decoding::new(coding, &body, 1 << 20).unwrap();
        let mut buffers = 0;
        loop {
            buffers += 1;
            let step = decoding.next_step().unwrap();
            if decoding.step(step).unwrap() {
                break;
            }
        }
        // Of several members the last one names its size.
        assert!(buffers <= 2, "{coding:?} {buffers}");
        assert_eq!(decoding.into_text(), text);
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_takes_memory() {
    let text = b"{\"messages\":[]}".repeat(50_000);
    for coding in Coding::ALL {
        let body = encoded(coding, &text);
        let refused = Decoding::new(coding, &body, 100_000).and_then(|body| body.next_step());
        assert_eq!(refused, Err(Undecodable::TooLarge), "{coding:?}");
    }
}

//! MB/s of the byte-exact scanner on chat bodies (CONTRACT 1), beside `serde_json` reading the same
//! bytes to their end and building nothing. The two do not do the same work: `IgnoredAny` finds no
//! text and leaves UTF-8 unchecked. Then of what a record takes: the scan and the prompt's text
//! together, and a text written as a JSON string, beside `serde_json` writing it.
//! Run: `cargo bench --bench json [-- quick]`.

use monitor_wire::json::{self, Request, RequestShape};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long to measure.
struct Scale {
    samples: usize,
    sample: Duration,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let full = has("--bench") && !has("quick");
    let scale = if full {
        Scale {
            samples: 31,
            sample: Duration::from_millis(40),
        }
    } else {
        Scale {
            samples: 3,
            sample: Duration::from_millis(2),
        }
    };
    println!(
        "| body | scan MB/s | serde_json MB/s | ratio | scan and prompt MB/s | write MB/s | serde_json MB/s |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, body) in bodies() {
        let rates = rates(&body, &scale);
        let [scan, skip, prompt, write, serde] = rates;
        println!(
            "| {name} | {scan:.0} | {skip:.0} | {:.2} | {prompt:.0} | {write:.0} | {serde:.0} |",
            scan / skip
        );
    }
    println!("\nMedians of {} interleaved samples.", scale.samples);
}

/// Chat bodies: a short and a long text, and one with an image.
fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let image = "iVBORw0KGgoAAAANSUhEUgAA".repeat((1 << 20) / 24);
    let image = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "What is in this picture?"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{image}")}},
    ]}]});
    vec![
        ("1 KiB", bench_support::body::chat(1 << 10, false)),
        ("1 MiB", bench_support::body::chat(1 << 20, false)),
        ("1 MiB, an image", image.to_string().into_bytes()),
    ]
}

/// Median MB/s of everything that is compared, sampled by turns.
fn rates(body: &[u8], scale: &Scale) -> [f64; 5] {
    let text = String::from_utf8_lossy(body);
    let mut out = Vec::with_capacity(2 * body.len());
    let mut samples: [Vec<f64>; 5] = Default::default();
    for _ in 0..scale.samples {
        let rates = [
            rate(body, scale.sample, |body| {
                black_box(json::scan(black_box(body))).is_ok()
            }),
            rate(body, scale.sample, |body| {
                serde_json::from_slice::<serde::de::IgnoredAny>(black_box(body)).is_ok()
            }),
            rate(body, scale.sample, |body| {
                let scan = json::scan(black_box(body));
                let prompt =
                    scan.map(|scan| Request::read(&RequestShape::CHAT, body, &scan).prompt(&[]));
                black_box(prompt).is_ok()
            }),
            rate(body, scale.sample, |_| {
                out.clear();
                json::write_string(black_box(&text), &mut out);
                !black_box(&out).is_empty()
            }),
            rate(body, scale.sample, |_| {
                out.clear();
                serde_json::to_writer(&mut out, black_box(&*text)).is_ok()
            }),
        ];
        for (samples, rate) in samples.iter_mut().zip(rates) {
            samples.push(rate);
        }
    }
    samples.map(median)
}

/// MB/s of one sample; the clock is read once per batch, so that it costs nothing at 1 KiB.
fn rate(body: &[u8], sample: Duration, mut check: impl FnMut(&[u8]) -> bool) -> f64 {
    let batch = (1 << 18) / body.len() + 1;
    let begin = Instant::now();
    let mut checked = 0;
    while begin.elapsed() < sample {
        for _ in 0..batch {
            assert!(check(body), "the body is JSON");
        }
        checked += batch;
    }
    (checked * body.len()) as f64 / begin.elapsed().as_secs_f64() / 1e6
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

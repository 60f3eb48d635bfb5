//! MB/s of the byte-exact scanner on chat bodies (CONTRACT 1), beside `serde_json` reading the same
//! bytes to their end and building nothing. The two do not do the same work: `IgnoredAny` finds no
//! text and leaves UTF-8 unchecked. Run: `cargo bench --bench json [-- quick]`.

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
    println!("| body | scan MB/s | serde_json MB/s | ratio |\n|---|---:|---:|---:|");
    for (name, bytes) in [("1 KiB", 1 << 10), ("1 MiB", 1 << 20)] {
        let body = bench_support::body::chat(bytes, false);
        let (scan, serde) = compare(&body, &scale);
        println!("| {name} | {scan:.0} | {serde:.0} | {:.2} |", scan / serde);
    }
    println!("\nMedians of {} interleaved samples.", scale.samples);
}

/// Median MB/s of both, sampled by turns.
fn compare(body: &[u8], scale: &Scale) -> (f64, f64) {
    let (mut scan, mut serde) = (Vec::new(), Vec::new());
    for _ in 0..scale.samples {
        scan.push(rate(body, scale.sample, |body| {
            black_box(monitor_wire::json::scan(black_box(body))).is_ok()
        }));
        serde.push(rate(body, scale.sample, |body| {
            serde_json::from_slice::<serde::de::IgnoredAny>(black_box(body)).is_ok()
        }));
    }
    (median(scan), median(serde))
}

/// MB/s of one sample; the clock is read once per batch, so that it costs nothing at 1 KiB.
fn rate(body: &[u8], sample: Duration, check: impl Fn(&[u8]) -> bool) -> f64 {
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

//! A chart as SVG of a fixed size, with the same numbers as a table for those who do not see it. No
//! script and no style in it: colors are classes, so that themes hold.

use crate::analysis::ui::layout::components::{number, short_number};
use crate::analysis::ui::phrases::UnitPhrases;
use maud::{Markup, html};

/// Units across a bucket, and the height of the plot in units; the picture is stretched to its place.
const STEP: usize = 10;
const HEIGHT: u64 = 100;
/// The number of the look of the time before.
const BEFORE: usize = 2;
/// The most labels of days below a chart.
const LABELS: usize = 8;

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A bar per bucket, one part on the other.
    Bars,
    /// A line per series, since they overlap.
    Lines,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Microseconds,
}

impl Unit {
    fn written(self, units: &UnitPhrases, value: u64) -> String {
        match self {
            Self::Count => number(value),
            Self::Microseconds => units.duration(value),
        }
    }

    /// For the axis, where there is little room.
    fn short(self, units: &UnitPhrases, value: u64) -> String {
        match (self, value) {
            (_, 0) => "0".to_owned(),
            (Self::Count, _) => short_number(value),
            (Self::Microseconds, _) => units.duration(value),
        }
    }
}

/// A row of values, one per bucket.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<u64>,
}

/// The texts of a chart and of the table below it.
#[derive(Clone, Copy)]
pub(crate) struct ChartTexts {
    /// A phrase with the highest value in it.
    pub(crate) highest: &'static str,
    pub(crate) units: &'static UnitPhrases,
    pub(crate) summary: &'static str,
    pub(crate) first_column: &'static str,
}

/// What the buckets are called.
pub(crate) struct Times {
    /// Short, for the axis: one for so many buckets each that they are all of them.
    pub(crate) labels: Vec<String>,
    /// In full, of each bucket.
    pub(crate) names: Vec<String>,
    /// Where each bucket leads; empty where none leads anywhere. A bar is a link for the mouse and touch, the table has
    /// the same links for the keyboard.
    pub(crate) links: Vec<String>,
}

/// A chart in its card, with its numbers as a table.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'static str,
    pub(crate) shape: Shape,
    pub(crate) series: Vec<Series>,
    /// The time before, bucket by bucket, to compare with: a line over the bars.
    pub(crate) before: Option<Series>,
    pub(crate) times: &'a Times,
    pub(crate) unit: Unit,
    pub(crate) texts: ChartTexts,
}

impl Chart<'_> {
    /// The chart in its card.
    pub(crate) fn markup(&self) -> Markup {
        let top = self.top();
        html! {
            figure.card.chart {
                figcaption { h2 { (self.title) } (self.legend()) }
                div.plotted {
                    div.scale aria-hidden="true" { span { (self.unit.short(self.texts.units, top)) } span { (self.unit.short(self.texts.units, 0)) } }
                    (self.plot(top))
                    div.times aria-hidden="true" { @for label in &self.times.labels { span { (label) } } }
                }
                details { summary { (self.texts.summary) } (self.values()) }
            }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            @if self.rows().nth(1).is_some() {
                span.legend {
                    @for (at, series) in self.series.iter().enumerate() {
                        span { span class={ "key s" (at + 1) } aria-hidden="true" {} (series.name) }
                    }
                    @if let Some(before) = &self.before {
                        span { span class={ "key s" (BEFORE + 1) } aria-hidden="true" {} (before.name) }
                    }
                }
            }
        }
    }

    /// All rows of values.
    fn rows(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().chain(self.before.iter())
    }

    fn buckets(&self) -> usize {
        self.times.names.len()
    }

    fn value(&self, series: &Series, at: usize) -> u64 {
        series.values.get(at).copied().unwrap_or_default()
    }

    fn written(&self, series: &Series, at: usize) -> String {
        let value = self.value(series, at);
        self.unit.written(self.texts.units, value)
    }

    /// The highest value that is drawn, at least one.
    fn top(&self) -> u64 {
        let of = |at| {
            let before = self.before.as_ref().map(|before| self.value(before, at));
            let values = self.series.iter().map(|series| self.value(series, at));
            let highest = match self.shape {
                Shape::Bars => values.sum::<u64>(),
                Shape::Lines => values.max().unwrap_or_default(),
            };
            highest.max(before.unwrap_or_default())
        };
        (0..self.buckets()).map(of).max().unwrap_or_default().max(1)
    }

    fn plot(&self, top: u64) -> Markup {
        let width = self.buckets() * STEP;
        let label = format!("{}. {}", self.title, self.summary_text());
        // A picture has nothing in it that can be opened.
        let role = if self.times.links.is_empty() {
            "img"
        } else {
            "group"
        };
        html! {
            svg.plot viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" role=(role) aria-label=(label) {
                @for y in [25, 50, 75] { line.grid x1="0" x2=(width) y1=(y) y2=(y) {} }
                line.base x1="0" x2=(width) y1=(HEIGHT) y2=(HEIGHT) {}
                @match self.shape {
                    Shape::Bars => @for at in 0..self.buckets() { (self.bar(at, top)) },
                    Shape::Lines => @for (number, series) in self.series.iter().enumerate() { (self.line(number, series, top)) },
                }
                @if let Some(before) = &self.before { (self.line(BEFORE, before, top)) }
                @for at in 0..self.buckets() { (self.place(at)) }
            }
        }
    }

    /// The place of a bucket, as a link where it has one.
    fn place(&self, at: usize) -> Markup {
        let text = self.bucket_text(at);
        let area = html! { rect.hit x=(at * STEP) y="0" width=(STEP) height=(HEIGHT) { title { (text) } } };
        html! {
            @match self.times.links.get(at) {
                Some(link) => a href=(link) tabindex="-1" aria-label=(text) { (area) },
                None => (area),
            }
        }
    }

    fn bar(&self, at: usize, top: u64) -> Markup {
        let mut floor = 0.0;
        let parts = self.series.iter().enumerate().map(|(number, series)| {
            let height = scaled(self.value(series, at), top);
            floor += height;
            (number, height, HEIGHT as f64 - floor)
        });
        let parts: Vec<_> = parts.filter(|(_, height, _)| *height > 0.0).collect();
        html! {
            @for (number, height, y) in parts {
                rect class={ "s" (number + 1) } x=(at * STEP + 1) y=(format!("{y:.2}")) width=(STEP - 2) height=(format!("{height:.2}")) {}
            }
        }
    }

    fn line(&self, number: usize, series: &Series, top: u64) -> Markup {
        let point = |at: usize| {
            let y = HEIGHT as f64 - scaled(self.value(series, at), top);
            format!("{},{y:.2}", at * STEP + STEP / 2)
        };
        let points: Vec<_> = (0..self.buckets()).map(point).collect();
        html! { polyline class={ "line s" (number + 1) } points=(points.join(" ")) {} }
    }

    /// A bucket in words.
    fn bucket_text(&self, at: usize) -> String {
        let of = |series: &Series| format!("{}: {}", series.name, self.written(series, at));
        let all: Vec<_> = self.rows().map(of).collect();
        let name = self.times.names.get(at).map_or("", String::as_str);
        format!("{name} · {}", all.join(", "))
    }

    /// The chart in words: the highest value of each row, and when.
    fn summary_text(&self) -> String {
        let of = |series: &Series| {
            let highest = (0..self.buckets()).max_by_key(|at| self.value(series, *at));
            let at = highest.unwrap_or_default();
            let name = self.times.names.get(at).map_or("", String::as_str);
            let highest = self.texts.highest.replace("{}", &self.written(series, at));
            format!("{}: {highest} ({name})", series.name)
        };
        self.series.iter().map(of).collect::<Vec<_>>().join("; ")
    }

    fn bucket_name(&self, at: usize, name: &str) -> Markup {
        html! {
            @match self.times.links.get(at) { Some(link) => a href=(link) { (name) }, None => (name) }
        }
    }

    fn values(&self) -> Markup {
        html! {
            div.table.flat tabindex="0" role="region" aria-label=(self.title) { table {
                caption.hidden { (self.title) }
                thead { tr { th scope="col" { (self.texts.first_column) } @for series in self.rows() { th.number scope="col" { (series.name) } } } }
                tbody { @for (at, name) in self.times.names.iter().enumerate().rev() {
                    tr { th scope="row" { (self.bucket_name(at, name)) } @for series in self.rows() { td.number { (self.written(series, at)) } } }
                } }
            } }
        }
    }
}

fn scaled(value: u64, top: u64) -> f64 {
    value as f64 / top as f64 * HEIGHT as f64
}

/// One label for so many days that the labels are few, and of equally many days each.
pub(crate) fn label_step(days: usize) -> usize {
    let mut steps = 1..=days;
    let fits = |step: &usize| days.is_multiple_of(*step) && days / step <= LABELS;
    steps.find(fits).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::label_step;

    #[test]
    fn labels_are_of_equally_many_days() {
        for (days, step) in [(1, 1), (7, 1), (30, 5), (31, 31), (90, 15), (400, 50)] {
            assert_eq!(label_step(days), step, "{days}");
        }
    }
}

//! Numbers with a unit, as each language writes them.

phrases! {
    decimal_mark: ".", ",";
    percent_sign: "%", "\u{a0}%";
    microseconds: "µs", "мкс";
    milliseconds: "ms", "мс";
    seconds: "s", "с";
    minutes: "min", "мин";
    hours: "h", "ч";
    days: "d", "дн.";
    bytes: "B", "Б";
    kibibytes: "KiB", "КиБ";
    mebibytes: "MiB", "МиБ";
    gibibytes: "GiB", "ГиБ";
}

impl Phrases {
    fn decimal(&self, value: f64, digits: usize) -> String {
        format!("{value:.digits$}").replace('.', self.decimal_mark)
    }

    /// A percentage with so many digits after the decimal mark.
    pub(crate) fn percent(&self, percent: f64, digits: usize) -> String {
        format!("{}{}", self.decimal(percent, digits), self.percent_sign)
    }

    /// A score from 0 to 1.
    pub(crate) fn score(&self, score: f64) -> String {
        self.decimal(score, 2)
    }

    /// Microseconds in the unit that suits them.
    pub(crate) fn duration(&self, us: u64) -> String {
        match us {
            0..1_000 => format!("{us}\u{a0}{}", self.microseconds),
            1_000..1_000_000 => {
                format!(
                    "{}\u{a0}{}",
                    self.decimal(us as f64 / 1e3, 1),
                    self.milliseconds
                )
            }
            _ => format!("{}\u{a0}{}", self.decimal(us as f64 / 1e6, 1), self.seconds),
        }
    }

    /// Microseconds in milliseconds, to the hundredth below.
    pub(crate) fn in_milliseconds(&self, us: u64) -> String {
        let (whole, hundredths) = (us / 1000, us % 1000 / 10);
        format!(
            "{whole}{}{hundredths:02}\u{a0}{}",
            self.decimal_mark, self.milliseconds
        )
    }

    /// Bytes in the unit that suits them.
    pub(crate) fn size(&self, value: u64) -> String {
        let units = [
            (1 << 30, self.gibibytes),
            (1 << 20, self.mebibytes),
            (1 << 10, self.kibibytes),
        ];
        match units.into_iter().find(|(unit, _)| value >= *unit) {
            None => format!("{value}\u{a0}{}", self.bytes),
            Some((unit, sign)) => {
                format!(
                    "{}\u{a0}{sign}",
                    self.decimal(value as f64 / unit as f64, 1)
                )
            }
        }
    }

    /// Seconds as the two largest units that they have.
    pub(crate) fn age(&self, seconds: u64) -> String {
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        let (d, h, min) = (self.days, self.hours, self.minutes);
        match (days, hours, minutes) {
            (0, 0, 0) => format!("{seconds}\u{a0}{}", self.seconds),
            (0, 0, minutes) => format!("{minutes}\u{a0}{min}"),
            (0, hours, minutes) => format!("{hours}\u{a0}{h} {minutes}\u{a0}{min}"),
            (days, hours, _) => format!("{days}\u{a0}{d} {hours}\u{a0}{h}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: String) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn english_has_a_decimal_point_and_a_percent_sign_without_a_space() {
        let times = [5, 1_500, 61_000_000].map(|us| plain(EN.duration(us)));
        assert_eq!(times, ["5 µs", "1.5 ms", "61.0 s"]);
        let sizes = [12, 1_023, 1_536, 2_048, 5 << 20, 3 << 30].map(|size| plain(EN.size(size)));
        let expected = ["12 B", "1023 B", "1.5 KiB", "2.0 KiB", "5.0 MiB", "3.0 GiB"];
        assert_eq!(sizes, expected);
        let ages = [59, 61, 7_260, 180_000].map(|seconds| plain(EN.age(seconds)));
        assert_eq!(ages, ["59 s", "1 min", "2 h 1 min", "2 d 2 h"]);
        let short = [12_345, 9].map(|us| plain(EN.in_milliseconds(us)));
        assert_eq!(short, ["12.34 ms", "0.00 ms"]);
        assert_eq!(EN.percent(14.94, 1), "14.9%");
    }

    #[test]
    fn russian_has_a_decimal_comma_and_units_of_its_own() {
        assert_eq!(plain(RU.duration(1_500)), "1,5 мс");
        assert_eq!(plain(RU.size(1_536)), "1,5 КиБ");
        assert_eq!(plain(RU.age(180_000)), "2 дн. 2 ч");
        assert_eq!(plain(RU.in_milliseconds(12_345)), "12,34 мс");
        assert_eq!(plain(RU.percent(14.94, 1)), "14,9 %");
    }
}

//! Quantities of resources: `500m` CPUs, `64Mi` bytes.
//!
//! Objects carry a quantity as the text `k8s-openapi` read; an [`Amount`] is that text as a number, to compare and
//! add. Mirrors `k8s.io/apimachinery/pkg/api/resource`: a signed number with a suffix, never a float, exact to the
//! nano, capped at 2⁶³-1, printed in one canonical form that keeps the suffix family of what was read.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Nanos in one.
const ONE: i128 = 1_000_000_000;
/// Nanos in a thousandth.
const MILLI: i128 = 1_000_000;
/// The largest magnitude a quantity may have; greater ones are capped.
const NANOS_MAX: i128 = i64::MAX as i128 * ONE;
/// Digits after the point that count before a power-of-two suffix; later ones only round up.
const FRACTION_DIGITS: usize = 18;

/// The suffix family a quantity was written with; it is printed with the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `m`, none, `k`, `M` …: powers of ten.
    #[default]
    DecimalSI,
    /// `Ki`, `Mi`, `Gi` …: powers of two.
    BinarySI,
    /// `e3`, `E6`: powers of ten as exponents.
    DecimalExponent,
}

/// A quantity as a number. Two amounts are equal when the numbers are, however they were written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amount {
    nanos: i128,
    format: Format,
}

/// Why a text is no quantity, in the words of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// A character that no quantity has.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// No digits, or a lone point.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// Letters that are no suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount { nanos: 0, format: Format::DecimalSI };

    /// Reads a quantity. Mirrors `resource.ParseQuantity`.
    pub fn parse(text: &str) -> Result<Amount, QuantityError> {
        match parse_common(text) {
            Some(amount) => Ok(amount),
            None => parse_any(text),
        }
    }

    /// The amount in a stored object, whose quantities were checked when it was decoded; a bad one counts as zero.
    pub fn of(quantity: &Quantity) -> Amount {
        Amount::parse(&quantity.0).unwrap_or_default()
    }

    /// Whole units: pods, bytes.
    pub fn units(n: i64) -> Amount {
        Amount { nanos: i128::from(n) * ONE, format: Format::DecimalSI }
    }

    /// Thousandths: millicores of CPU.
    pub fn millis(n: i64) -> Amount {
        Amount { nanos: i128::from(n) * MILLI, format: Format::DecimalSI }
    }

    /// Whole bytes, printed with `Ki`, `Mi` …
    pub fn bytes(n: i64) -> Amount {
        Amount { nanos: i128::from(n) * ONE, format: Format::BinarySI }
    }

    /// The same, printed with `Ki`, `Mi` … where that loses nothing.
    pub fn in_bytes(self) -> Amount {
        Amount { format: Format::BinarySI, ..self }
    }

    /// The number in whole units, rounded away from zero. Mirrors `Quantity.Value`.
    pub fn value(self) -> i64 {
        divide_away(self.nanos, ONE)
    }

    /// The number in thousandths, rounded away from zero. Mirrors `Quantity.MilliValue`.
    pub fn milli_value(self) -> i64 {
        divide_away(self.nanos, MILLI)
    }

    /// The amount rounded up to a whole unit. Mirrors `Quantity.RoundUp(0)`.
    pub fn rounded_up(self) -> Amount {
        let nanos = match self.nanos % ONE {
            0 => self.nanos,
            rest => self.nanos - rest + ONE * self.nanos.signum(),
        };
        Amount { nanos, ..self }
    }

    /// Whether this is zero, in any unit.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether this is less than zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// The suffix family this prints with.
    pub fn format(self) -> Format {
        self.format
    }

    /// The canonical text, as objects carry it.
    pub fn to_quantity(self) -> Quantity {
        Quantity(self.to_string())
    }
}

/// `n / by`, rounded away from zero, capped to what an int64 holds.
fn divide_away(n: i128, by: i128) -> i64 {
    let quotient = n / by + if n % by == 0 { 0 } else { n.signum() };
    i64::try_from(quotient).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX })
}

/// A quantity in canonical form, as every answer of the API server has it: `1000m` becomes `1`.
pub fn canonical(text: &str) -> Result<String, QuantityError> {
    Amount::parse(text).map(|amount| amount.to_string())
}

/// The forms nearly all manifests use: up to 15 digits and a common suffix.
fn parse_common(text: &str) -> Option<Amount> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 15 {
        return None;
    }
    let number: i128 = text[..digits].parse().ok()?;
    let (unit, format) = match &text[digits..] {
        "" => (ONE, Format::DecimalSI),
        "m" => (MILLI, Format::DecimalSI),
        "Ki" => (ONE << 10, Format::BinarySI),
        "Mi" => (ONE << 20, Format::BinarySI),
        "Gi" => (ONE << 30, Format::BinarySI),
        _ => return None,
    };
    Some(Amount { nanos: (number * unit).min(NANOS_MAX), format })
}

/// Any quantity: sign, digits with at most one point, suffix.
fn parse_any(text: &str) -> Result<Amount, QuantityError> {
    let (negative, unsigned) = match text.as_bytes().first() {
        None => return Err(QuantityError::Format),
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        Some(_) => (false, text),
    };
    let (whole, rest) = split_digits(unsigned);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    check_suffix_characters(suffix)?;
    let (scale, format) = interpret_suffix(suffix).ok_or(QuantityError::Suffix)?;
    if whole.is_empty() && fraction.is_empty() {
        return Err(QuantityError::Numeric);
    }
    let nanos = match scale {
        Scale::Ten(exponent) => scale_by_ten(whole, fraction, exponent),
        Scale::Two(exponent) => scale_by_two(whole, fraction, exponent),
    };
    let nanos = nanos.min(NANOS_MAX);
    // A binary fraction of one prints in decimal, so that nothing is rounded.
    let format = if format == Format::BinarySI && 0 < nanos && nanos < ONE { Format::DecimalSI } else { format };
    Ok(Amount { nanos: if negative { -nanos } else { nanos }, format })
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// A suffix is letters of `eEinumkKMGTP`, then perhaps a sign and digits.
fn check_suffix_characters(suffix: &str) -> Result<(), QuantityError> {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if rest.bytes().all(|c| c.is_ascii_digit()) { Ok(()) } else { Err(QuantityError::Format) }
}

enum Scale {
    Ten(i32),
    Two(u32),
}

fn interpret_suffix(suffix: &str) -> Option<(Scale, Format)> {
    let decimal = |exponent| Some((Scale::Ten(exponent), Format::DecimalSI));
    let binary = |exponent| Some((Scale::Two(exponent), Format::BinarySI));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Beyond a few dozen the exponent makes no difference: the number is zero or capped.
            Some((Scale::Ten(exponent.clamp(-10_000, 10_000) as i32), Format::DecimalExponent))
        }
    }
}

/// `whole.fraction × 10^exponent` in nanos, rounded up.
fn scale_by_ten(whole: &str, fraction: &str, exponent: i32) -> i128 {
    let digits = format!("{whole}{fraction}");
    let shift = 9 + i64::from(exponent) - fraction.len() as i64;
    if shift >= 0 {
        let power = 10_i128.saturating_pow(u32::try_from(shift).unwrap_or(u32::MAX));
        return number(&digits).saturating_mul(power);
    }
    let kept = digits.len().saturating_sub(shift.unsigned_abs() as usize);
    number(&digits[..kept]).saturating_add(i128::from(has_more(&digits[kept..])))
}

/// `whole.fraction × 2^exponent` in nanos, rounded up.
fn scale_by_two(whole: &str, fraction: &str, exponent: u32) -> i128 {
    let (counted, rest) = fraction.split_at(fraction.len().min(FRACTION_DIGITS));
    let denominator = 10_i128.pow(counted.len() as u32);
    let scaled = number(counted) << exponent;
    let nanos = scaled / denominator * ONE + (scaled % denominator * ONE + denominator - 1) / denominator;
    let exact = scaled % denominator * ONE % denominator == 0;
    let rounded_up = i128::from(exact && has_more(rest));
    number(whole).saturating_mul(ONE << exponent).saturating_add(nanos + rounded_up)
}

/// The number that decimal digits stand for, capped; none is zero.
fn number(digits: &str) -> i128 {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(i128::MAX) }
}

fn has_more(digits: &str) -> bool {
    digits.bytes().any(|c| c != b'0')
}

impl fmt::Display for Amount {
    /// The canonical form: no fraction, and the largest suffix that loses nothing. Mirrors
    /// `Quantity.CanonicalizeBytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = -1024 * ONE < self.nanos && self.nanos < 1024 * ONE;
        if self.format == Format::BinarySI && !small && self.nanos % ONE == 0 {
            return fmt_binary(self.nanos / ONE, f);
        }
        let (mut number, mut exponent) = (self.nanos, -9);
        while number % 1000 == 0 && exponent < 18 {
            (number, exponent) = (number / 1000, exponent + 3);
        }
        match (self.format, exponent) {
            (_, 0) => write!(f, "{number}"),
            (Format::DecimalExponent, _) => write!(f, "{number}e{exponent}"),
            _ => write!(f, "{number}{}", DECIMAL_SUFFIXES[((exponent + 9) / 3) as usize]),
        }
    }
}

/// Suffixes from 10⁻⁹ to 10¹⁸ in steps of a thousand.
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes from 2⁰ to 2⁶⁰ in steps of 1024.
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn fmt_binary(mut number: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut power = 0;
    while number % 1024 == 0 && power + 1 < BINARY_SUFFIXES.len() {
        (number, power) = (number / 1024, power + 1);
    }
    write!(f, "{number}{}", BINARY_SUFFIXES[power])
}

impl PartialEq for Amount {
    fn eq(&self, other: &Amount) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Amount) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Amount) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Add for Amount {
    type Output = Amount;
    /// The sum keeps the suffix family of the first, unless that is zero.
    fn add(self, other: Amount) -> Amount {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Amount { nanos: self.nanos.saturating_add(other.nanos), format }
    }
}

impl Sub for Amount {
    type Output = Amount;
    fn sub(self, other: Amount) -> Amount {
        self + -other
    }
}

impl Neg for Amount {
    type Output = Amount;
    fn neg(self) -> Amount {
        Amount { nanos: self.nanos.saturating_neg(), ..self }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        *self = *self + other;
    }
}

impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Amount) {
        *self = *self - other;
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::ZERO, |sum, amount| sum + amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_print_in_canonical_form() {
        #[rustfmt::skip]
        let cases = [
            ("0", "0"), ("0Gi", "0"), ("0.0", "0"), ("1", "1"), ("1000m", "1"), ("1500m", "1500m"),
            ("1.5", "1500m"), ("0.5", "500m"), (".5", "500m"), ("1.", "1"), ("100m", "100m"), ("0.1m", "100u"),
            ("1n", "1n"), ("0.1n", "1n"), ("1000", "1k"), ("1024", "1024"), ("1024Ki", "1Mi"), ("1Ki", "1Ki"),
            ("512Ki", "512Ki"), ("1.5Gi", "1536Mi"), ("0.5Gi", "512Mi"), ("0.5Ki", "512"), ("0.0001Ki", "102400u"),
            ("64Mi", "64Mi"), ("1e3", "1e3"), ("1E3", "1e3"), ("1000e0", "1e3"), ("12e-1", "1200e-3"), ("5E", "5E"),
            ("1Ei", "1Ei"), ("-1", "-1"), ("-1.5Gi", "-1536Mi"), ("+2", "2"), ("007", "7"),
            ("100000000000", "100G"), ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775807"),
            ("99999999999999999999999999999999999999999999", "9223372036854775807"),
            ("100Ei", "9223372036854775807"), ("1e1000", "9223372036854775807"), ("1e-1000", "1e-9"),
            ("0.123456789123", "123456790n"),
        ];
        for (text, want) in cases {
            assert_eq!(canonical(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_in_the_api_servers_words() {
        use QuantityError::*;
        #[rustfmt::skip]
        let cases = [
            ("", Format), ("abc", Format), ("1 Gi", Format), ("1.2.3", Format), ("1x", Format), ("ten", Format),
            ("1Mi ", Format), ("é", Format), ("-", Numeric), ("Gi", Numeric), (".", Numeric), ("+.", Numeric),
            ("1Ki5", Suffix), ("1mi", Suffix), ("1K", Suffix), ("1e", Suffix), ("1i", Suffix), ("1e3e3", Format),
        ];
        for (text, want) in cases {
            assert_eq!(canonical(text), Err(want), "{text}");
        }
    }

    #[test]
    fn amounts_compare_and_add_as_numbers() {
        let amount = |text| Amount::parse(text).unwrap();
        assert_eq!(amount("1"), amount("1000m"));
        assert!(amount("1Gi") > amount("1G"));
        assert_eq!((amount("100m") + amount("0.9")).to_string(), "1");
        assert_eq!((amount("1Gi") - amount("512Mi")).to_string(), "512Mi");
        assert_eq!((Amount::ZERO + amount("1Gi")).to_string(), "1Gi");
        assert_eq!((Amount::ZERO - amount("1Gi")).to_string(), "-1Gi");
        assert_eq!([amount("1"), amount("250m")].into_iter().sum::<Amount>().to_string(), "1250m");
    }

    #[test]
    fn values_round_away_from_zero() {
        let cases = [("1500m", 2, 1500), ("0.1m", 1, 1), ("-1500m", -2, -1500), ("1Ki", 1024, 1_024_000), ("1n", 1, 1)];
        for (text, value, millis) in cases {
            let amount = Amount::parse(text).unwrap();
            assert_eq!((amount.value(), amount.milli_value()), (value, millis), "{text}");
        }
        assert_eq!(Amount::parse("1Ei").unwrap().milli_value(), i64::MAX);
    }
}

//! A number of Pods, or a share of all of them: `3`, `25%`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A number, or a percentage of `total`. A broken one is zero; validation lets none through.
/// Mirrors `intstr.GetScaledValueFromIntOrPercent`.
pub fn scaled(value: Option<&IntOrString>, total: i32, round_up: bool) -> i32 {
    match value {
        None => 0,
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let hundredths = i128::from(percent) * i128::from(total);
            let rounded = if round_up { (hundredths + 99).div_euclid(100) } else { hundredths.div_euclid(100) };
            i32::try_from(rounded).unwrap_or(i32::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_round_as_asked() {
        let percent = |text: &str| Some(IntOrString::String(text.into()));
        for (value, total, round_up, want) in [
            (None, 10, true, 0),
            (Some(IntOrString::Int(3)), 10, true, 3),
            (percent("25%"), 10, true, 3),
            (percent("25%"), 10, false, 2),
            (percent("100%"), 7, false, 7),
            (percent("0%"), 7, true, 0),
            (percent("9223372036854775807%"), 7, true, i32::MAX),
        ] {
            assert_eq!(scaled(value.as_ref(), total, round_up), want, "{value:?} of {total}");
        }
    }
}

//! Whole numbers that a model wrote with a fraction or an exponent. JSON Schema takes `50.0` and `1e3` for integers;
//! serde does not read them into integer fields.

/// Digits of the longest integer that is written out: those of `u128`.
const MAX_DIGITS: usize = 39;

/// `json` with every whole number up to [`MAX_DIGITS`] digits written as an integer. Strings are left alone, and so is
/// everything where `json` is not JSON.
pub(crate) fn write_whole_numbers_as_integers(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, token) = rest.split_at(start);
        written.push_str(before);
        let is_string = token.starts_with('"');
        let end = if is_string { string_end(token) } else { number_end(token) };
        let (token, after) = token.split_at(end);
        match integer(token).filter(|_| !is_string) {
            Some(integer) => written.push_str(&integer),
            None => written.push_str(token),
        }
        rest = after;
    }
    written.push_str(rest);
    written
}

fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_end(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))).unwrap_or(text.len())
}

/// The integer that equals `number`; nothing where there is none, or where it is too long.
fn integer(number: &str) -> Option<String> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (number, 0),
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some("0".into());
    }
    // The value is `significant` followed by this many zeros.
    let zeros = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let integer = match usize::try_from(zeros) {
        Ok(zeros) if zeros <= MAX_DIGITS => format!("{significant}{}", "0".repeat(zeros)),
        Ok(_) => return None,
        Err(_) => {
            let dropped = usize::try_from(zeros.unsigned_abs()).ok()?;
            let end = significant.len().checked_sub(dropped)?;
            let (kept, cut) = significant.split_at_checked(end)?;
            if !cut.bytes().all(|digit| digit == b'0') {
                return None;
            }
            kept.to_owned()
        }
    };
    (integer.len() <= MAX_DIGITS).then(|| format!("{sign}{integer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_lose_fraction_and_exponent_and_nothing_else_changes() {
        for (json, expected) in [
            (r#"{"a":50.0,"b":[1e3,-2.50E+1]}"#, r#"{"a":50,"b":[1000,-25]}"#),
            (r#"{"a":0.5,"b":1e-1,"c":3.14}"#, r#"{"a":0.5,"b":1e-1,"c":3.14}"#),
            ("[100e-2, 1000e-2, 105e-1, 0.0, -0, 0e9]", "[1, 10, 105e-1, 0, 0, 0]"),
            (r#"{"1.0":"2.0 \" 3.0","é":"\\"}"#, r#"{"1.0":"2.0 \" 3.0","é":"\\"}"#),
            (
                "[18446744073709551615, 340282366920938463463374607431768211455]",
                "[18446744073709551615, 340282366920938463463374607431768211455]",
            ),
            (
                "[1e38, 1e39, 1e999999999999, 1e-999999999999999999999]",
                &format!("[1{}, 1e39, 1e999999999999, 1e-999999999999999999999]", "0".repeat(38)),
            ),
            (r#"[true,null,"unfinished 1.0"#, r#"[true,null,"unfinished 1.0"#),
        ] {
            assert_eq!(write_whole_numbers_as_integers(json), expected);
        }
    }
}

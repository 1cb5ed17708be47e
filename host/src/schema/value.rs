//! What validation needs to know about JSON values and numbers without ever turning a number into a float.

use jsonschema::json::{Array as _, Json, JsonNumber as _, Node as _, Object as _, SerdeJson};
use serde_json::{Map, Number, Value};

use super::instance::Length;
use crate::model::{self, duplicate_key};

/// A JSON Schema type name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether `value` is of this type. `written` asks for integers without fraction and exponent (draft 4).
    pub(super) fn accepts(self, value: &Value, written: bool) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => match integer_text(number.as_str()) {
                Some(text) => !written || text == number.as_str(),
                None => false,
            },
            _ => self == Self::of(value),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// Longest integer that is written out from a number with a fraction or an exponent; a longer one stays as it is.
const MAX_EXPANDED_DIGITS: usize = 400;

/// The number that `text` is wholly, blanks around it allowed.
pub(super) fn parse_number(text: &str) -> Option<Number> {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    // What follows the digits is checked by the parser; this keeps the other JSON values out.
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    serde_json::from_str::<Number>(text).ok()
}

/// The text of an integer equal to the JSON number `text`, or nothing where that has a fraction. A number that is
/// written as an integer keeps its text.
pub(super) fn integer_text(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)),
        None => (text, 0),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if fraction.is_empty() && exponent == 0 && !text.contains(['e', 'E']) {
        return Some(text.to_owned());
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(format!("{sign}0"));
    }
    // The value is `digits` shifted by this many places.
    let shift = exponent.saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX));
    if shift < 0 {
        let dropped = usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX);
        let zeros = significant.len() - significant.trim_end_matches('0').len();
        let kept = significant.len().checked_sub(dropped).filter(|_| dropped <= zeros)?;
        return Some(format!("{sign}{}", significant.get(..kept)?));
    }
    let zeros = usize::try_from(shift).unwrap_or(usize::MAX);
    if significant.len().saturating_add(zeros) > MAX_EXPANDED_DIGITS {
        return Some(text.to_owned());
    }
    Some(format!("{sign}{significant}{}", "0".repeat(zeros)))
}

/// Whether two JSON numbers are one number, `1.0` and `1` or `1e2` and `100`. By their digits, in one pass that ends where they
/// differ: the library's comparison makes both into fractions, which takes long for long numbers.
pub(super) fn same_number(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (Some(one), Some(other)) = (Decimal::of(one), Decimal::of(other)) else { return false };
    let (mut left, mut right) = (one.digits(), other.digits());
    one.point == other.point
        && (one.negative == other.negative || one.point == Decimal::ZERO)
        && loop {
            match (left.next(), right.next()) {
                (None, None) => break true,
                (left, right) if left.unwrap_or(b'0') != right.unwrap_or(b'0') => break false,
                _ => {}
            }
        }
}

/// A JSON number as `0.DIGITS` with the point moved.
struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    /// Places that the point is moved to the right.
    point: i64,
}

impl<'a> Decimal<'a> {
    /// Of zero, however it is written.
    const ZERO: i64 = i64::MIN;

    /// None where the exponent is beyond all reckoning.
    fn of(text: &'a str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (whole, mut fraction) = (whole.trim_start_matches('0'), fraction);
        let mut point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
        if whole.is_empty() {
            let significant = fraction.trim_start_matches('0');
            point = point.checked_sub(i64::try_from(fraction.len() - significant.len()).ok()?)?;
            fraction = significant;
            if significant.is_empty() {
                point = Self::ZERO;
            }
        }
        Some(Self { negative, whole, fraction, point })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 'a {
        self.whole.bytes().chain(self.fraction.bytes())
    }
}

fn parse_exponent(text: &str) -> i64 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = digits
        .bytes()
        .fold(0_i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0'))));
    if negative { -size } else { size }
}

/// JSON nesting of `value`, counted no further than one beyond `limit`: `5` is 0, `[5]` is 1.
pub(super) fn depth(value: &Value, limit: usize) -> usize {
    fn deepest<'a>(children: impl Iterator<Item = &'a Value>, limit: usize) -> usize {
        let mut deepest = 0;
        for child in children {
            // The recursion ends here at the latest, however deep the value.
            let below = if limit == 0 { 0 } else { depth(child, limit - 1) };
            deepest = deepest.max(1 + below);
        }
        deepest
    }
    match value {
        Value::Array(items) => deepest(items.iter(), limit),
        Value::Object(map) => deepest(map.values(), limit),
        _ => 0,
    }
}

/// Work of copying or comparing `value` whole, in steps. Call it on values whose depth is bounded.
pub(super) fn weight(value: &Value) -> u64 {
    weight_of::<SerdeJson>(&value)
}

/// The same in any representation.
pub(super) fn weight_of<F>(value: &F::Node<'_>) -> u64
where
    F: Json,
    for<'v> F::Node<'v>: Length,
{
    if let Some(length) = value.length() {
        text_weight(length)
    } else if let Some(number) = value.as_number() {
        text_weight(number.as_str().len())
    } else if let Some(items) = value.as_array() {
        items.elements().map(|item| weight_of::<F>(&item)).fold(1, u64::saturating_add)
    } else if let Some(object) = value.as_object() {
        let weigh = |member: &F::Node<'_>, name: &str| weight_of::<F>(member).saturating_add(text_weight(name.len()));
        object.members().map(|(name, member)| weigh(&member, name.as_ref())).fold(1, u64::saturating_add)
    } else {
        1
    }
}

/// Steps for a text of so many bytes.
pub(super) fn text_weight(length: usize) -> u64 {
    1 + (length / 64) as u64
}

/// Parses a string that holds a JSON object.
pub(super) fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match parse_held(text, '{')? {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Parses a string that holds a JSON array.
pub(super) fn parse_array(text: &str) -> Option<Vec<Value>> {
    match parse_held(text, '[')? {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// Reads JSON that a string holds, if it is what would be accepted as arguments: serde_json's own reader would take a value
/// with one of its private keys for something else, and read what such a key holds anew, however deep.
fn parse_held(text: &str, first: char) -> Option<Value> {
    if !text.trim_start().starts_with(first) {
        return None;
    }
    let held = model::Json::parse(text).ok()?;
    if duplicate_key(&held).is_some() {
        return None;
    }
    Some(held.root()?.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_by_value() {
        let same = [
            ["0", "-0"],
            ["0", "0.00e7"],
            ["1", "1.0"],
            ["100", "1e2"],
            ["-0.0010", "-1E-3"],
            ["12.50", "0.125e+2"],
            ["10000000000000000000000000000001", "10000000000000000000000000000001.0"],
        ];
        for [one, other] in same {
            assert!(same_number(one, other) && same_number(other, one), "{one} {other}");
        }
        for [one, other] in
            [["1", "-1"], ["1", "10"], ["0.1", "0.01"], ["1e400", "1e401"], ["123", "1234"], ["12.5", "12.51"]]
        {
            assert!(!same_number(one, other) && !same_number(other, one), "{one} {other}");
        }
    }

    #[test]
    fn integers_are_recognised_by_their_digits() {
        for (text, expected) in [
            ("3", Some("3")),
            ("3.0", Some("3")),
            ("-3.00", Some("-3")),
            ("3.7", None),
            ("1e+3", Some("1000")),
            ("1.5e1", Some("15")),
            ("1.55e1", None),
            ("1500e-2", Some("15")),
            ("1500e-3", None),
            ("0e-5", Some("0")),
            ("-0", Some("-0")),
            ("-0.0", Some("-0")),
            ("1e400", Some("1e400")),
            ("1e-400", None),
            ("1e99999999999999999999999", Some("1e99999999999999999999999")),
            ("1e-99999999999999999999999", None),
            ("9007199254740993.0", Some("9007199254740993")),
            ("18446744073709551616", Some("18446744073709551616")),
        ] {
            assert_eq!(integer_text(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_number_text_is_read_whole_or_not_at_all() {
        for text in ["", " ", "0x10", "+1", ".5", "1.", "01", "1 2", "NaN", "-", "1e", "Infinity", "١", "\u{a0}1"] {
            assert!(parse_number(text).is_none(), "{text:?}");
        }
        let long = "0.12345678901234567890123456789012345678901234567890";
        assert_eq!(parse_number(&format!(" {long}\n")).map(|number| number.to_string()).as_deref(), Some(long));
        assert_eq!(parse_number("-0").map(|number| number.to_string()).as_deref(), Some("-0"));
    }

    #[test]
    fn depth_is_counted_no_further_than_asked() {
        assert_eq!(depth(&json!(5), 9), 0);
        assert_eq!(depth(&json!([]), 9), 0);
        assert_eq!(depth(&json!([5]), 9), 1);
        assert_eq!(depth(&json!({"a": {"b": 1}, "c": 2}), 9), 2);
        assert_eq!(depth(&json!([[[[[1]]]]]), 3), 4);
    }
}

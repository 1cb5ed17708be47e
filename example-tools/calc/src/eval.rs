//! Reads and computes an expression in one pass of recursive descent.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = unary (("*" | "/" | "%") unary)*
//! unary   = ("-" | "+") unary | power
//! power   = atom ("^" unary)?            right to left; binds tighter than a minus before it
//! atom    = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"
//! ```

use std::fmt;

/// What is wrong, and where.
#[derive(Debug, PartialEq)]
pub struct Error {
    message: String,
    /// In characters, from 0.
    position: usize,
    expression: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_end = self.position >= self.expression.chars().count();
        let place = if at_end { "at the end".to_owned() } else { format!("at character {}", self.position + 1) };
        // A caret under the place; an expression of several lines has none.
        write!(f, "{} {place}", self.message)?;
        if self.expression.contains('\n') {
            return Ok(());
        }
        write!(f, "\n{}\n{}^", self.expression, " ".repeat(self.position))
    }
}

impl std::error::Error for Error {}

/// Deeper nesting is refused before it exhausts the stack.
const MAX_DEPTH: usize = 200;

/// The value of `expression`, or the first error in it.
pub fn evaluate(expression: &str) -> Result<f64, Error> {
    let mut parser = Parser { chars: expression.chars().collect(), at: 0, depth: 0 };
    parser.whole().map_err(|Fault { message, position }| Error { message, position, expression: expression.to_owned() })
}

/// A whole number without a fraction, others in the shortest form that reads back the same.
pub fn display(value: f64) -> String {
    if value == 0.0 {
        return "0".into(); // also for -0
    }
    if (1e-6..1e21).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

struct Fault {
    message: String,
    position: usize,
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

type Value = Result<f64, Fault>;

impl Parser {
    fn whole(&mut self) -> Value {
        let value = self.sum()?;
        match self.peek() {
            None => Ok(value),
            Some(')') => Err(self.fault("There is no `(` for the `)`")),
            Some(c) => Err(self.fault(format!("Expected an operator instead of `{c}`"))),
        }
    }

    fn sum(&mut self) -> Value {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut value = self.unary()?;
        loop {
            let Some(operator @ ('*' | '/' | '%')) = self.peek() else { return Ok(value) };
            let place = self.at;
            self.at += 1;
            let right = self.unary()?;
            if right == 0.0 && operator != '*' {
                return Err(Fault { message: "Division by zero".into(), position: place });
            }
            value = match operator {
                '*' => value * right,
                '/' => value / right,
                _ => value % right,
            };
            finite(value, place)?;
        }
    }

    fn unary(&mut self) -> Value {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(format!("The expression is nested deeper than {MAX_DEPTH} levels")));
        }
        let value = if self.take('-') {
            -self.unary()?
        } else if self.take('+') {
            self.unary()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Value {
        let base = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        let place = self.at;
        self.at += 1;
        finite(base.powf(self.unary()?), place)
    }

    fn atom(&mut self) -> Value {
        let place = self.next_place();
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.sum()?;
                self.close(place)?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() => self.name(),
            _ => Err(self.fault("Expected a number, a function or `(`")),
        }
    }

    fn number(&mut self) -> Value {
        let start = self.at;
        self.digits();
        if self.chars.get(self.at) == Some(&'.') {
            self.at += 1;
            self.digits();
        }
        if let Some('e' | 'E') = self.chars.get(self.at) {
            let sign = usize::from(matches!(self.chars.get(self.at + 1), Some('+' | '-')));
            if self.chars.get(self.at + 1 + sign).is_some_and(char::is_ascii_digit) {
                self.at += 1 + sign;
                self.digits();
            }
        }
        let text: String = self.chars.iter().take(self.at).skip(start).collect();
        let value = text.parse().map_err(|_| Fault { message: format!("`{text}` is no number"), position: start })?;
        finite(value, start)
    }

    fn digits(&mut self) {
        while self.chars.get(self.at).is_some_and(char::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn name(&mut self) -> Value {
        let place = self.at;
        while self.chars.get(self.at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
            self.at += 1;
        }
        let name: String = self.chars.iter().take(self.at).skip(place).collect();
        if self.peek() != Some('(') {
            return match name.as_str() {
                "pi" => Ok(std::f64::consts::PI),
                "e" => Ok(std::f64::consts::E),
                _ => Err(Fault { message: format!("Unknown name `{name}` (there are pi and e)"), position: place }),
            };
        }
        let open = self.at;
        self.at += 1;
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        self.close(open)?;
        let value = apply(&name, &arguments).map_err(|message| Fault { message, position: place })?;
        finite(value, place)
    }

    fn close(&mut self, open: usize) -> Result<(), Fault> {
        if self.take(')') {
            return Ok(());
        }
        Err(self.fault(format!("Expected `)` for the `(` at character {}", open + 1)))
    }

    fn peek(&mut self) -> Option<char> {
        let place = self.next_place();
        self.chars.get(place).copied()
    }

    /// Of the next character that is no blank.
    fn next_place(&mut self) -> usize {
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.at
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { message: message.into(), position: self.at }
    }
}

fn finite(value: f64, position: usize) -> Value {
    if value.is_nan() {
        Err(Fault { message: "The result is not a real number".into(), position })
    } else if value.is_infinite() {
        Err(Fault { message: "The result is too large".into(), position })
    } else {
        Ok(value)
    }
}

fn apply(name: &str, arguments: &[f64]) -> Result<f64, String> {
    match name {
        "max" => return Ok(arguments.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        "min" => return Ok(arguments.iter().copied().fold(f64::INFINITY, f64::min)),
        _ => {}
    }
    let function: fn(f64) -> f64 = match name {
        "abs" => f64::abs,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "round" => f64::round,
        "sin" => f64::sin,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        _ => {
            return Err(format!(
                "Unknown function `{name}` (there are abs, ceil, cos, exp, floor, ln, log10, max, min, round, sin, \
                 sqrt, tan)"
            ));
        }
    };
    match arguments {
        [argument] => Ok(function(*argument)),
        _ => Err(format!("`{name}` takes one argument, not {}", arguments.len())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn expressions_have_the_usual_values() {
        for (expression, value) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("10 - 4 - 3", "3"),
            ("7 / 2", "3.5"),
            ("-7 % 4", "-3"),
            ("-2^2", "-4"),
            ("2^-1", "0.5"),
            ("2^3^2", "512"),
            ("--2", "2"),
            ("0.1 + 0.2", "0.30000000000000004"),
            ("1.5e3", "1500"),
            (".5 * 4.", "2"),
            ("1e300 * 10", "1e301"),
            ("-0", "0"),
            ("sqrt(16) + abs(-3) + min(3, 1, 2) + max(4)", "12"),
            ("round(pi)", "3"),
            ("ln(e)", "1"),
            (" \t2\n+ 2 ", "4"),
        ] {
            match evaluate(expression) {
                Ok(found) => assert_eq!(display(found), value, "{expression}"),
                Err(error) => assert!(value.is_empty(), "{expression}: {error}"),
            }
        }
    }

    #[test]
    fn errors_say_what_and_where() {
        for (expression, message) in [
            ("", "Expected a number, a function or `(` at the end"),
            ("1 / (2 - 2)", "Division by zero at character 3"),
            ("5 % 0", "Division by zero at character 3"),
            ("2 3", "Expected an operator instead of `3` at character 3"),
            ("(1 + 2", "Expected `)` for the `(` at character 1 at the end"),
            ("1)", "There is no `(` for the `)` at character 2"),
            ("foo(1)", "Unknown function `foo`"),
            ("1 + x", "Unknown name `x` (there are pi and e) at character 5"),
            ("sqrt(1, 2)", "`sqrt` takes one argument, not 2 at character 1"),
            ("sqrt(-1)", "The result is not a real number at character 1"),
            ("(-8)^0.5", "The result is not a real number at character 5"),
            ("10^400", "The result is too large at character 3"),
            ("1e999", "The result is too large at character 1"),
            (".", "`.` is no number at character 1"),
            ("é", "Unknown name `é`"),
            ("2 * 😀", "Expected a number, a function or `(` at character 5"),
        ] {
            let error = evaluate(expression).unwrap_err().to_string();
            assert!(error.starts_with(message), "{expression}: {error}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        let error = evaluate(&"(".repeat(100_000)).unwrap_err().to_string();
        assert!(error.starts_with("The expression is nested deeper than 200 levels"), "{error:.100}");
        assert!(evaluate(&format!("{}1{}", "(".repeat(150), ")".repeat(150))).is_ok());
    }
}

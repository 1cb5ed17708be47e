//! What the schema module promises, through its public interface: one binary, one file per promise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod coercion;
mod digits;
mod hostile;
mod messages;
mod properties;
mod suite;

use toolgate::model::Json;
use toolgate::schema::{Checked, Invalid, Schema};

/// JSON text to a document.
fn parse(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn schema(text: &str) -> Schema {
    Schema::compile(parse(text).value()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn check(schema_text: &str, arguments: &str) -> Result<Checked, Invalid> {
    schema(schema_text).check(&parse(arguments))
}

/// The arguments that would run, as JSON text, and the coerced paths.
fn accepted(schema_text: &str, arguments: &str) -> (String, Vec<String>) {
    let checked =
        check(schema_text, arguments).unwrap_or_else(|invalid| panic!("{}", invalid.message("t", &parse(arguments))));
    let value = checked.coerced.unwrap_or_else(|| parse(arguments));
    (value.to_string(), checked.paths)
}

/// The problems as `path: message` lines.
fn refused(schema_text: &str, arguments: &str) -> Vec<String> {
    match check(schema_text, arguments) {
        Ok(checked) => panic!("accepted: {checked:?}"),
        Err(invalid) => {
            invalid.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
        }
    }
}

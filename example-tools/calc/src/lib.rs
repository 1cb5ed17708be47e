//! The smallest whole plugin: one pure tool, no capabilities.

mod eval;

use toolgate_sdk::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// For example `2 * (3 + 4)^2` or `max(1, sqrt(2), pi / 3)`.
    expression: String,
}

/// Evaluates an arithmetic expression and returns the number.
///
/// Knows + - * / % ^ and parentheses, the constants pi and e, and the functions abs, ceil, cos, exp, floor, ln,
/// log10, max, min, round, sin, sqrt, tan (radians). Numbers are double precision. No variables, units or dates.
#[tool(label = "Calculator", read_only, idempotent, open_world = false)]
fn calc(args: Args) -> Result<String, eval::Error> {
    eval::evaluate(&args.expression).map(eval::display)
}

toolgate_sdk::plugin! { tools: [calc] }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::testing;

    use super::*;

    #[test]
    fn the_tool_answers_with_the_number_as_text() {
        let result = testing::call(&calc {}, json!({"expression": "2*(3+4)"})).unwrap();
        assert_eq!(result, ToolResult::text("14"));
    }

    #[test]
    fn an_error_shows_where_it_is() {
        let error = testing::call(&calc {}, json!({"expression": "2 * (3 + "})).unwrap_err();
        assert_eq!(error.to_string(), "Expected a number, a function or `(` at the end\n2 * (3 + \n         ^");
    }

    #[test]
    fn a_missing_argument_is_named() {
        let error = testing::call(&calc {}, json!({"expr": "1"})).unwrap_err();
        assert!(error.to_string().starts_with("Invalid arguments: missing field `expression`"), "{error}");
    }

    #[test]
    fn the_definition_describes_the_argument() {
        let definition = calc {}.definition();
        assert_eq!(definition.name, "calc");
        assert!(definition.description.starts_with("Evaluates an arithmetic expression"));
        let parameters: Value = serde_json::from_str(&definition.parameters).unwrap();
        assert_eq!(parameters["required"], json!(["expression"]));
        assert_eq!(parameters["properties"]["expression"]["type"], "string");
    }
}

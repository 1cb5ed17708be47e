use toolgate_sdk::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// Whom to greet.
    name: String,
    /// How often; once by default.
    times: Option<u8>,
}

/// Greets somebody. Use it when the user asks for a greeting.
#[tool(label = "{{Ident}}", read_only)]
fn {{ident}}(args: Args) -> Result<String, ToolError> {
    if args.name.is_empty() {
        return Err("The name is empty; ask the user for it".into());
    }
    let greetings = vec![format!("Hello {}!", args.name); args.times.unwrap_or(1).into()];
    Ok(greetings.join(" "))
}

toolgate_sdk::plugin! { tools: [{{ident}}] }

#[cfg(test)]
mod tests {
    use toolgate_sdk::testing;

    use super::*;

    #[test]
    fn greets() {
        let result = testing::call(&{{ident}} {}, json!({"name": "Ada", "times": 2})).unwrap();
        assert_eq!(result.joined_text(), "Hello Ada! Hello Ada!");
    }
}

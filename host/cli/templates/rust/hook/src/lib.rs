use toolgate_sdk::prelude::*;

/// Looks at every call of the tool `bash`.
struct {{Ident}};

impl Hook for {{Ident}} {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::before().tools(["bash"])]
    }

    // An error refuses the call, too.
    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        let args: Value = cx.parse_arguments()?;
        let command = args["command"].as_str().ok_or("bash was called without a command")?;
        if command.contains("rm -rf") {
            return Ok(Decision::block("Deleting whole trees is not allowed"));
        }
        if command.starts_with("git push") {
            return Ok(Decision::ask("Push?", format!("The agent wants to run: {command}")));
        }
        Ok(Decision::allow())
    }
}

toolgate_sdk::plugin! { hooks: [{{Ident}}] }

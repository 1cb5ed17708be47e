//! Hooks: policy and observation around everyone's tools.

use std::ops::Deref;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::result::to_json;
use crate::{
    AfterContext, BeforeContext, Block, CallError, Content, Decision, Event, HookError, Host, HostError, Override,
    Question, SettledContext, Subscription, ToolCall, ToolResult, tool,
};

/// A hook. Of the three events it implements those it subscribes to.
///
/// ```
/// use toolgate_sdk::prelude::*;
///
/// struct Gate;
///
/// impl Hook for Gate {
///     fn subscriptions(&self) -> Vec<Subscription> {
///         vec![Subscription::before().tools(["bash"])]
///     }
///
///     fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
///         if cx.arguments().contains("rm -rf") {
///             return Ok(Decision::block("Deleting whole trees is not allowed here"));
///         }
///         Ok(Decision::allow())
///     }
/// }
///
/// toolgate_sdk::plugin! { hooks: [Gate] }
/// ```
///
/// Several hooks of one component are asked in the listed order, those only that subscribe to the event and the tool:
/// - before: replaced arguments go on to the next hook; the first block ends it, also after an ask. The questions of
///   several hooks become one. An ask beside a replacement of another hook in the same component is an error, since the
///   contract can't carry both: such hooks belong into plugins of their own;
/// - after: each sees the result as the earlier ones left it;
/// - the first error ends it.
pub trait Hook {
    /// The events and tools this hook wants. Read once at load.
    fn subscriptions(&self) -> Vec<Subscription>;

    /// After validation, before execution. An error refuses the call, and its text becomes the result.
    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        let _ = cx;
        Ok(Decision::Allow)
    }

    /// After execution, before the end event. An error replaces the whole result, unless the operator configured that
    /// such a hook is skipped.
    fn after_tool_call(&self, cx: &AfterContext) -> Result<Option<Override>, HookError> {
        let _ = cx;
        Ok(None)
    }

    /// After the end event of every call, refused ones too.
    fn settled(&self, cx: &SettledContext) {
        let _ = cx;
    }
}

impl Subscription {
    /// To calls that are about to run.
    pub fn before() -> Self {
        Self { event: Event::BeforeToolCall, tools: None }
    }

    /// To calls that ran.
    pub fn after() -> Self {
        Self { event: Event::AfterToolCall, tools: None }
    }

    /// To calls that are over, refused ones too.
    pub fn settled() -> Self {
        Self { event: Event::Settled, tools: None }
    }

    /// Only of these tools, by exact name. Without it: of every tool.
    pub fn tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    fn wants(&self, event: Event, tool: &str) -> bool {
        self.event == event && self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }
}

impl Decision {
    /// The call goes on.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// Ends the call here. The reason is for the model.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(Block { reason: Some(reason.into()), terminate: false })
    }

    /// Ends the call here and hints that the run may stop.
    pub fn block_and_terminate(reason: impl Into<String>) -> Self {
        Self::Block(Block { reason: Some(reason.into()), terminate: true })
    }

    /// The call goes on with these arguments, which are validated again.
    ///
    /// # Panics
    /// Where serde can't write them as JSON.
    pub fn replace(arguments: impl Serialize) -> Self {
        Self::ReplaceArguments(to_json("replaced arguments", &arguments))
    }

    /// Asks the host's approver, after the later hooks have run: a block among them wins. No approver, a no and no
    /// answer decline. What was approved runs; the hook is not asked again.
    pub fn ask(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Ask(Question { title: title.into(), text: text.into() })
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Override {
    fn default() -> Self {
        Self { content: None, details: None, structured_content: None, usage: None, is_error: None, terminate: None }
    }
}

impl Override {
    /// Changes nothing yet: a field not given stays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the content. Without a new structured content this drops the old one.
    pub fn content(mut self, content: Vec<Content>) -> Self {
        self.content = Some(content);
        self
    }

    /// Replaces the details as a whole. Panics where serde can't write them as JSON.
    pub fn details(mut self, details: impl Serialize) -> Self {
        self.details = Some(to_json("details", &details));
        self
    }

    /// Replaces the structured content. Panics where serde can't write it as JSON.
    pub fn structured_content(mut self, value: impl Serialize) -> Self {
        self.structured_content = Some(to_json("structured content", &value));
        self
    }

    /// Replaces the usage as a whole. Panics where serde can't write it as JSON.
    pub fn usage(mut self, usage: impl Serialize) -> Self {
        self.usage = Some(to_json("usage", &usage));
        self
    }

    /// Makes the result an error, or a success.
    pub fn is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }

    /// Sets the hint that the run may stop here.
    pub fn terminate(mut self, terminate: bool) -> Self {
        self.terminate = Some(terminate);
        self
    }

    /// The override that does this one and then `later`.
    fn then(self, later: Override) -> Self {
        // Content alone drops the structured content, also the one that `self` gave.
        let structured_content = if later.content.is_some() {
            later.structured_content
        } else {
            later.structured_content.or(self.structured_content)
        };
        Self {
            content: later.content.or(self.content),
            details: later.details.or(self.details),
            structured_content,
            usage: later.usage.or(self.usage),
            is_error: later.is_error.or(self.is_error),
            terminate: later.terminate.or(self.terminate),
        }
    }

    fn apply(&self, result: &mut ToolResult, is_error: &mut bool) {
        let over = self.clone();
        if let Some(content) = over.content {
            result.content = content;
            result.structured_content = None;
        }
        result.details = over.details.or(result.details.take());
        result.structured_content = over.structured_content.or(result.structured_content.take());
        result.usage = over.usage.or(result.usage.take());
        *is_error = over.is_error.unwrap_or(*is_error);
        result.terminate = over.terminate.or(result.terminate);
    }
}

macro_rules! context {
    ($($context:ident)*) => {$(
        impl $context {
            /// The call as the model wrote it.
            pub fn call(&self) -> &ToolCall {
                &self.call
            }

            /// The arguments that run (or ran) as JSON text, digits kept.
            pub fn arguments(&self) -> &str {
                &self.arguments
            }

            /// The arguments as `T`. The error names the argument that does not fit.
            pub fn parse_arguments<T: DeserializeOwned>(&self) -> Result<T, HostError> {
                tool::parse_arguments(&self.arguments)
            }
        }

        impl Deref for $context {
            type Target = Host;

            fn deref(&self) -> &Host {
                &Host
            }
        }
    )*};
}

macro_rules! context_with_result {
    ($($context:ident)*) => {$(
        impl $context {
            /// The result as earlier hooks left it.
            pub fn result(&self) -> &ToolResult {
                &self.tool_result
            }

            /// Whether the call counts as failed: the tool said so, it failed, or an earlier hook set it.
            pub fn is_error(&self) -> bool {
                self.is_error
            }

            /// The kind of the failure, where the host has one.
            pub fn error(&self) -> Option<&CallError> {
                self.error.as_ref()
            }
        }
    )*};
}

context! { BeforeContext AfterContext SettledContext }
context_with_result! { AfterContext SettledContext }

impl SettledContext {
    /// From the start event to the end event.
    pub fn duration(&self) -> Duration {
        Duration::try_from_secs_f64(self.duration_ms / 1000.0).unwrap_or_default()
    }
}

fn wanting<'a>(hooks: &'a [Box<dyn Hook>], event: Event, tool: &'a str) -> impl Iterator<Item = &'a dyn Hook> {
    hooks
        .iter()
        .map(|hook| hook.as_ref())
        .filter(move |hook| hook.subscriptions().iter().any(|subscription| subscription.wants(event, tool)))
}

pub(crate) fn before(hooks: &[Box<dyn Hook>], mut cx: BeforeContext) -> Result<Decision, HookError> {
    let mut replaced = false;
    let mut asked: Option<Question> = None;
    let name = cx.call.name.clone();
    for hook in wanting(hooks, Event::BeforeToolCall, &name) {
        match hook.before_tool_call(&cx)? {
            Decision::Allow => {}
            Decision::ReplaceArguments(arguments) => {
                cx.arguments = arguments;
                replaced = true;
            }
            Decision::Ask(question) => {
                asked = Some(match asked {
                    Some(asked) => both(&asked, &question),
                    None => question,
                });
            }
            block @ Decision::Block(_) => return Ok(block),
        }
    }
    match (asked, replaced) {
        (Some(_), true) => Err(HookError::new(
            "One hook asked for approval and another hook of the same plugin replaced the arguments; put the two hooks \
             into plugins of their own",
        )),
        (Some(question), false) => Ok(Decision::Ask(question)),
        (None, true) => Ok(Decision::ReplaceArguments(cx.arguments)),
        (None, false) => Ok(Decision::Allow),
    }
}

/// The contract carries one question per component; the person has to see both.
fn both(first: &Question, second: &Question) -> Question {
    Question { title: format!("{}; {}", first.title, second.title), text: format!("{}\n\n{}", first.text, second.text) }
}

pub(crate) fn after(hooks: &[Box<dyn Hook>], mut cx: AfterContext) -> Result<Option<Override>, HookError> {
    let mut all: Option<Override> = None;
    let name = cx.call.name.clone();
    for hook in wanting(hooks, Event::AfterToolCall, &name) {
        if let Some(over) = hook.after_tool_call(&cx)? {
            over.apply(&mut cx.tool_result, &mut cx.is_error);
            all = Some(all.unwrap_or_default().then(over));
        }
    }
    Ok(all)
}

pub(crate) fn settled(hooks: &[Box<dyn Hook>], cx: &SettledContext) {
    for hook in wanting(hooks, Event::Settled, &cx.call.name) {
        hook.settled(cx);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    /// Answers with a function, and wants the named tools.
    struct Scripted<B, A>(&'static [&'static str], B, A);

    impl<B, A> Hook for Scripted<B, A>
    where
        B: Fn(&BeforeContext) -> Decision,
        A: Fn(&AfterContext) -> Override,
    {
        fn subscriptions(&self) -> Vec<Subscription> {
            vec![Subscription::before().tools(self.0.iter().copied()), Subscription::after()]
        }

        fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
            Ok((self.1)(cx))
        }

        fn after_tool_call(&self, cx: &AfterContext) -> Result<Option<Override>, HookError> {
            Ok(Some((self.2)(cx)))
        }
    }

    fn on_before(decide: impl Fn(&BeforeContext) -> Decision + 'static) -> Box<dyn Hook> {
        Box::new(Scripted(&["t"], decide, |_: &AfterContext| Override::new()))
    }

    fn on_after(change: impl Fn(&AfterContext) -> Override + 'static) -> Box<dyn Hook> {
        Box::new(Scripted(&["t"], |_: &BeforeContext| Decision::allow(), change))
    }

    fn call(name: &str) -> ToolCall {
        ToolCall { id: "c".into(), name: name.into(), arguments: "{}".into() }
    }

    fn decide(hooks: &[Box<dyn Hook>], tool: &str) -> Result<Decision, HookError> {
        before(hooks, BeforeContext { call: call(tool), arguments: "{}".into() })
    }

    #[test]
    fn a_replacement_reaches_the_next_hook_and_a_block_wins() {
        let replace = || on_before(|_| Decision::replace(json!({"n": 1})));
        let look = || {
            on_before(|cx| {
                let args: Value = cx.parse_arguments().unwrap();
                if args == json!({"n": 1}) { Decision::block("saw it") } else { Decision::allow() }
            })
        };
        assert_eq!(decide(&[replace()], "t").unwrap(), Decision::ReplaceArguments(r#"{"n":1}"#.into()));
        assert_eq!(decide(&[replace(), look()], "t").unwrap(), Decision::block("saw it"));
        assert_eq!(decide(&[look(), look()], "t").unwrap(), Decision::allow());
        assert_eq!(decide(&[replace()], "other").unwrap(), Decision::allow(), "not subscribed");
    }

    #[test]
    fn an_ask_beside_a_replacement_fails_closed() {
        let ask = || on_before(|_| Decision::ask("Sure?", "It deletes"));
        let replace = || on_before(|_| Decision::replace(json!({})));
        assert!(decide(&[replace(), ask()], "t").is_err());
        assert!(decide(&[ask(), replace()], "t").is_err());
        let block = on_before(|_| Decision::block("no"));
        assert_eq!(decide(&[ask(), replace(), block], "t").unwrap(), Decision::block("no"));
    }

    /// Reported by a tool author: with both in one plugin, an approved ask ran what the later hook blocks.
    #[test]
    fn a_block_after_an_ask_wins() {
        let ask = || on_before(|_| Decision::ask("Sure?", "It deletes"));
        let allow = || on_before(|_| Decision::allow());
        let block = || on_before(|_| Decision::block_and_terminate("no"));
        assert_eq!(decide(&[ask(), allow()], "t").unwrap(), Decision::ask("Sure?", "It deletes"));
        assert_eq!(decide(&[ask(), allow(), block()], "t").unwrap(), Decision::block_and_terminate("no"));
    }

    #[test]
    fn questions_of_one_plugin_become_one() {
        let delete = on_before(|_| Decision::ask("Delete?", "All of it."));
        let pay = on_before(|_| Decision::ask("Pay?", "One euro."));
        assert_eq!(decide(&[delete, pay], "t").unwrap(), Decision::ask("Delete?; Pay?", "All of it.\n\nOne euro."));
    }

    #[test]
    fn overrides_add_up_as_if_done_one_after_another() {
        let result = ToolResult::text("secret").details(1).structured_content(json!({"s": "secret"}));
        let cx = || AfterContext {
            call: call("t"),
            arguments: "{}".into(),
            tool_result: result.clone(),
            is_error: false,
            error: None,
        };
        let data = || on_after(|_| Override::new().structured_content(json!({"s": 1})).is_error(true));
        let redact = || {
            on_after(|cx| {
                let text = format!("{} {}", cx.result().joined_text().len(), cx.is_error());
                Override::new().content(vec![Content::text(text)])
            })
        };
        let redacted = Override::new().content(vec!["6 true".into()]).is_error(true);
        assert_eq!(after(&[data(), redact()], cx()).unwrap(), Some(redacted));
        let both = after(&[redact(), data()], cx()).unwrap().unwrap();
        assert_eq!(both.structured_content.as_deref(), Some(r#"{"s":1}"#));
        assert_eq!(after(&[], cx()).unwrap(), None);
    }
}

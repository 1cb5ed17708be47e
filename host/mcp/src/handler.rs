//! What rmcp calls: one handler per connection or session, and per request where a revision has neither.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData as McpError, RoleServer, ServerHandler};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate::Loading;
use toolgate::model::Json;
use toolgate::telemetry::TraceParent;

use crate::bridge::Level;
use crate::call::{CallResponse, NewCall, QUESTION, Running, input_required, unknown_tool};
use crate::content::refused;
use crate::conversation::Conversation;
use crate::parked::Waiting;
use crate::server::Server;
use crate::{elicit, logging, tools};

/// The conversation of the connection a request came over, in its extensions.
#[derive(Clone)]
pub(crate) struct Connection(pub Arc<Conversation>);

/// Serves one connection or session.
pub(crate) struct Handler {
    server: Server,
    own: OnceLock<Arc<Conversation>>,
    /// The client has said once that it is ready; saying it again changes nothing.
    is_ready: AtomicBool,
    /// Ends what this handler started, with it.
    alive: CancellationToken,
    _ends: DropGuard,
}

impl Handler {
    pub(crate) fn new(server: Server) -> Self {
        let alive = CancellationToken::new();
        Self {
            server,
            own: OnceLock::new(),
            is_ready: AtomicBool::new(false),
            _ends: alive.clone().drop_guard(),
            alive,
        }
    }

    /// The session's conversation; where the request belongs to no session, its HTTP connection's.
    fn conversation(&self, cx: &RequestContext<RoleServer>) -> Arc<Conversation> {
        let connection = cx
            .extensions
            .get::<::http::request::Parts>()
            .filter(|_| is_self_contained(cx))
            .and_then(|parts| parts.extensions.get::<Connection>());
        match connection {
            Some(Connection(conversation)) => conversation.clone(),
            None => self.session().clone(),
        }
    }

    fn session(&self) -> &Arc<Conversation> {
        self.own.get_or_init(|| Arc::new(self.server.conversation()))
    }

    /// Goes on with a call that waited for an answer.
    async fn resume(
        &self,
        request: CallToolRequestParams,
        handle: &str,
        cx: &RequestContext<RoleServer>,
    ) -> CallResponse {
        let Some(waiting) = self.server.0.parked.take(handle) else {
            let message = "this requestState is not known, or its call is over; call the tool again without it";
            return Err(McpError::invalid_params(message, None));
        };
        let same_arguments =
            request.arguments.as_ref().is_none_or(|sent| waiting.running.arguments.value().as_object() == Some(sent));
        if *request.name != *waiting.running.name || !same_arguments {
            // Kept for the call it belongs to.
            self.server.0.parked.put_back(handle, waiting);
            let message = "this requestState belongs to another call; send the name and the arguments of that call";
            return Err(McpError::invalid_params(message, None));
        }
        let Some(answer) = request.input_responses.as_ref().and_then(|responses| responses.get(QUESTION)) else {
            let question = elicit::request(&waiting.ask.request);
            self.server.0.parked.put_back(handle, waiting);
            return Ok(input_required(question, handle.to_owned()));
        };
        let Waiting { running, ask, .. } = waiting;
        ask.answer(elicit::read_json(answer));
        running.drive(&self.server, cx).await
    }
}

/// Whether the revision has no handshake: each request says who asks and what it can do.
fn is_self_contained(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let options = &self.server.0.options;
        let mut info = ServerConfig::new(logging::capabilities())
            .with_server_info(Implementation::new(options.name.clone(), options.version.clone()));
        info.instructions.clone_from(&options.instructions);
        info
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.0.host.tools().tool(name).map(|tool| tools::describe(tool.definition()))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        let cursor = request.and_then(|request| request.cursor);
        // Many clients list the tools once, whatever they are told of changes.
        if cursor.is_none() {
            tokio::select! {
                () = self.server.0.host.listable() => {}
                () = self.server.0.closing.cancelled() => {}
            }
        }
        let active = self.conversation(&cx).active();
        tools::page(&self.server.0.host.tools(), &active, cursor.as_deref(), self.server.0.options.page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        if let Some(handle) = request.request_state.clone() {
            return self.resume(request, &handle, &cx).await;
        }
        let conversation = self.conversation(&cx);
        let unavailable = |why: &str| {
            let text = format!("Tool \"{}\" was not started: {why}. Try again later.", request.name);
            Ok(refused(text, "unavailable").into())
        };
        let Some(permit) = self.server.permit() else {
            return unavailable("the server has as many calls in flight as it takes, or is about to stop");
        };
        let host = &self.server.0.host;
        let tool = tokio::select! {
            tool = host.find_tool(&request.name) => tool,
            () = cx.ct.cancelled() => None,
            () = self.server.0.closing.cancelled() => None,
        };
        let tool = match (tool, host.loading()) {
            (Some(tool), _) if conversation.is_active(&tool) => tool,
            (Some(_), _) | (None, Loading::Done) => return Err(unknown_tool(&request.name)),
            (None, Loading::Failed(_)) => return unavailable("plugins that guard it could not be loaded"),
            (None, _) => return unavailable("it is not there, and plugins are still being loaded"),
        };
        let arguments = request.arguments.unwrap_or_default();
        let arguments = match serde_json::to_string(&arguments).map(Json::parse) {
            Ok(Ok(arguments)) => arguments,
            Ok(Err(error)) => {
                let text = format!("Validation failed for tool \"{}\":\n  - root: {error}", request.name);
                return Ok(refused(text, "invalid-arguments").into());
            }
            Err(error) => return Err(McpError::invalid_params(error.to_string(), None)),
        };
        // Self-contained requests say which lines they want, if any.
        let level = if is_self_contained(&cx) {
            Arc::new(Level::new(cx.meta.log_level().map(logging::rank)))
        } else {
            conversation.level.clone()
        };
        let call = NewCall { conversation, permit, level, tool, arguments, trace_parent: trace_parent(&cx) };
        Running::new(&self.server, call).drive(&self.server, &cx).await
    }

    async fn set_level(&self, request: logging::SetLevel, cx: RequestContext<RoleServer>) -> Result<(), McpError> {
        if is_self_contained(&cx) {
            let message = "this revision has no logging/setLevel; put io.modelcontextprotocol/logLevel into _meta";
            return Err(McpError::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        self.session().level.set(logging::rank_of(&request));
        Ok(())
    }

    /// `tools/call` and others with parameters of another shape come here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, McpError> {
        let expected = match &*request.method {
            "tools/call" => "{name: string, arguments?: object}",
            "tools/list" => "{cursor?: string}",
            "logging/setLevel" => "{level: debug, info, notice, warning, error, critical, alert or emergency}",
            "initialize" => "{protocolVersion, capabilities, clientInfo: {name, version}}",
            _ => {
                let method: String = request.method.chars().take(80).collect();
                return Err(McpError::new(ErrorCode::METHOD_NOT_FOUND, method, None));
            }
        };
        Err(McpError::invalid_params(format!("{}: expected params {expected}", request.method), None))
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        if self.is_ready.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = self.server.0.host.changes();
        let mut unlocked = self.session().unlocked();
        let alive = self.alive.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = alive.cancelled() => return,
                    changed = changed(&mut changes, &mut unlocked) => if !changed { return },
                }
                if cx.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, cx: SubscriptionContext) -> Result<(), McpError> {
        let mut changes = self.server.0.host.changes();
        let mut unlocked = self.conversation(cx.request_context()).unlocked();
        let wanted = cx.accepted().tools_list_changed == Some(true);
        loop {
            tokio::select! {
                () = cx.cancelled() => return Ok(()),
                () = self.server.0.draining.cancelled() => return Ok(()),
                changed = changed(&mut changes, &mut unlocked), if wanted => if !changed { return Ok(()) },
            }
            if cx.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Where the caller's trace is: in `_meta` as MCP has it, or in HTTP's own header.
fn trace_parent(cx: &RequestContext<RoleServer>) -> Option<TraceParent> {
    let header = || cx.extensions.get::<::http::request::Parts>()?.headers.get("traceparent")?.to_str().ok();
    cx.meta.get_traceparent().or_else(header)?.parse().ok()
}

/// Ends where the list changed; false where it cannot change any more.
async fn changed(loaded: &mut watch::Receiver<u64>, unlocked: &mut watch::Receiver<u64>) -> bool {
    tokio::select! {
        changed = loaded.changed() => changed.is_ok(),
        changed = unlocked.changed() => changed.is_ok(),
    }
}

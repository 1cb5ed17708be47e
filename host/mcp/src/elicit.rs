//! A hook's question as an MCP elicitation: a form of one yes or no.

use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleServer};
use serde_json::Value;
use toolgate::pipeline::{Approval, ApprovalRequest};

use crate::bridge::Ask;

/// The form's field.
const FIELD: &str = "approve";

/// Characters of arguments that are shown; what is longer is said to be.
const MAX_SHOWN: usize = 8_000;

/// Whether a client shows forms to its user. One that names no mode shows forms.
pub(crate) fn offers_forms(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|offered| offered.form.is_some() || offered.url.is_none())
}

/// Puts the question to the client and hands on its answer. Where the call does not wait any more, the question is taken
/// back.
pub(crate) async fn ask(peer: &Peer<RoleServer>, mut ask: Ask) {
    let request = ServerRequest::ElicitRequest(request(&ask.request));
    let mut handle = match peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
        Ok(handle) => handle,
        Err(error) => {
            tracing::warn!(%error, "a hook's question could not be put to the client");
            return ask.answer(declined("the client could not be asked"));
        }
    };
    let answer = tokio::select! {
        () = ask.reply.closed() => {
            // The client may have gone.
            let _ = handle.cancel(Some("the call does not wait for the answer any more".into())).await;
            return;
        }
        answer = &mut handle.rx => answer,
    };
    ask.answer(match answer {
        Ok(Ok(ClientResult::ElicitResult(result))) => read(&result),
        Ok(Ok(_)) => declined("the client's answer was no answer to the question"),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a hook's question was not answered");
            declined("the client could not ask")
        }
        Err(_) => declined("the client has gone"),
    });
}

/// The question as a request.
pub(crate) fn request(request: &ApprovalRequest) -> ElicitRequest {
    let schema = ElicitationSchema::builder()
        .required_bool_property(FIELD, |field| field.title("Run it?").description("Whether the tool may run"))
        .build()
        .unwrap_or_else(|_| ElicitationSchema::new(Default::default()));
    ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(request),
        requested_schema: schema,
    })
}

fn message(request: &ApprovalRequest) -> String {
    let mut text = String::new();
    for question in &request.questions {
        let by = question.plugin.as_ref().unwrap_or(&question.hook);
        text.push_str(&format!("{by} asks: {}\n", question.title));
        if !question.text.is_empty() {
            text.push_str(&format!("{}\n", question.text));
        }
    }
    let arguments = serde_json::to_string_pretty(request.arguments.value()).unwrap_or_default();
    text.push_str(&format!("\nTool: {}\nArguments: ", request.call.name));
    let more = arguments.chars().count().saturating_sub(MAX_SHOWN);
    text.extend(arguments.chars().take(MAX_SHOWN));
    if more > 0 {
        text.push_str(&format!("\n… {more} more characters of arguments are not shown"));
    }
    // Words of plugins and models, shown to a person.
    text.retain(|c| c == '\n' || !c.is_control());
    text
}

/// A client's answer as JSON.
pub(crate) fn read_json(answer: &Value) -> Approval {
    match serde_json::from_value::<ElicitResult>(answer.clone()) {
        Ok(result) => read(&result),
        Err(_) => declined("the client's answer was no answer to the question"),
    }
}

fn read(result: &ElicitResult) -> Approval {
    match result.action {
        ElicitationAction::Accept => match result.content.as_ref().and_then(|content| content.get(FIELD)) {
            Some(Value::Bool(true)) => Approval::Approved,
            Some(Value::Bool(false)) => Approval::Declined { reason: None },
            _ => declined("the client's answer did not say yes or no"),
        },
        ElicitationAction::Cancel => declined("the question was dismissed"),
        _ => Approval::Declined { reason: None },
    }
}

fn declined(reason: &str) -> Approval {
    Approval::Declined { reason: Some(reason.into()) }
}

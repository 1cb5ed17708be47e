//! A hook's question to the client's user.

use serde_json::{Value, json};

use crate::support::{Pipe, text};

fn ask(client: &mut Pipe) -> (i64, Value) {
    let id = client.start("tools/call", json!({ "name": "now" }));
    (id, client.notification("elicitation/create"))
}

fn reply(client: &mut Pipe, question: &Value, result: Value) {
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
}

#[test]
fn a_question_becomes_a_form_and_its_answer_counts() {
    let mut client = Pipe::open(&[], json!({ "elicitation": {} }));
    let (id, question) = ask(&mut client);
    let params = &question["params"];
    assert_eq!(params["requestedSchema"]["properties"]["approve"]["type"], "boolean", "{question}");
    assert_eq!(params["requestedSchema"]["required"], json!(["approve"]));
    let message = params["message"].as_str().unwrap();
    assert!(
        message.contains("gate asks") && message.contains("It tells the time.") && message.contains("Tool: now"),
        "{message}"
    );
    reply(&mut client, &question, json!({ "action": "accept", "content": { "approve": true } }));
    assert!(text(&client.answer(id)).parse::<u64>().is_ok());

    for (answer, says) in [
        (json!({ "action": "accept", "content": { "approve": false } }), "Tool execution was declined"),
        (json!({ "action": "accept", "content": {} }), "did not say yes or no"),
        (json!({ "action": "decline" }), "Tool execution was declined"),
        (json!({ "action": "cancel" }), "the question was dismissed"),
        (json!({ "roots": 7 }), "no answer to the question"),
    ] {
        let (id, question) = ask(&mut client);
        reply(&mut client, &question, answer.clone());
        let declined = client.answer(id);
        assert_eq!(declined["result"]["_meta"]["toolgate/error"]["kind"], "declined", "{answer}: {declined}");
        assert!(text(&declined).contains(says), "{answer}: {declined}");
    }
    let (id, question) = ask(&mut client);
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -32603, "message": "no window" } }));
    assert!(text(&client.answer(id)).contains("the client could not ask"));
}

#[test]
fn a_client_that_cannot_ask_declines() {
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let mut client = Pipe::open(&[], capabilities);
        let declined = client.call("now", json!({}));
        assert_eq!(declined["result"]["_meta"]["toolgate/error"]["kind"], "declined", "{declined}");
        assert!(text(&declined).contains("the client has no way to ask its user"), "{declined}");
    }
}

#[test]
fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let mut client = Pipe::open(&[], json!({ "elicitation": { "form": {} } }));
    let (id, question) = ask(&mut client);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    let back = client.notification("notifications/cancelled");
    assert_eq!(back["params"]["requestId"], question["id"]);
}

/// Without requests from server to client, the call is answered with the question, and made again with the answer.
#[test]
fn without_a_handshake_the_client_comes_back_with_the_answer() {
    let mut client = Pipe::silent(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let call = |extra: Value| {
        let mut params = json!({ "_meta": meta, "name": "now", "arguments": {} });
        params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        params
    };
    let mut asked = || {
        let asked = client.request("tools/call", call(json!({})));
        let result = asked["result"].clone();
        assert_eq!(result["resultType"], "input_required", "{asked}");
        assert_eq!(result["inputRequests"]["approval"]["method"], "elicitation/create", "{asked}");
        (result["requestState"].clone(), result)
    };
    let (state, _) = asked();
    let (other, _) = asked();
    assert_ne!(state, other);
    let yes = json!({ "approval": { "action": "accept", "content": { "approve": true } } });
    let no = json!({ "approval": { "action": "decline" } });

    // Not this call's state.
    let mut wrong = call(json!({ "requestState": state, "inputResponses": yes }));
    wrong["arguments"] = json!({ "x": 1 });
    assert_eq!(client.request("tools/call", wrong)["error"]["code"], -32602);
    let unknown = call(json!({ "requestState": "made up", "inputResponses": yes }));
    assert_eq!(client.request("tools/call", unknown)["error"]["code"], -32602);

    // No answer: the question again.
    let again = client.request("tools/call", call(json!({ "requestState": state })));
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    let state = again["result"]["requestState"].clone();

    let answer = client.request("tools/call", call(json!({ "requestState": state, "inputResponses": yes })));
    assert!(text(&answer).parse::<u64>().is_ok(), "{answer}");
    // Once.
    let twice = client.request("tools/call", call(json!({ "requestState": state, "inputResponses": yes })));
    assert_eq!(twice["error"]["code"], -32602);
    let declined = client.request("tools/call", call(json!({ "requestState": other, "inputResponses": no })));
    assert_eq!(declined["result"]["_meta"]["toolgate/error"]["kind"], "declined", "{declined}");
}

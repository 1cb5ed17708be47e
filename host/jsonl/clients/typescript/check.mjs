// What the client promises, against a real server: node check.mjs COMMAND [ARGUMENT...]
import assert from "node:assert/strict";
import { Toolgate, ToolgateError } from "@toolgate/jsonl";

const call = (id, name, args = {}) => ({ type: "toolCall", id, name, arguments: args });
const text = (message) => message.content[0].text;
const [questions, logs, events, changes] = [[], [], [], []];

const toolgate = await Toolgate.start(process.argv.slice(2), {
  steps: true,
  onLog: (line) => logs.push(line),
  onToolsChanged: () => changes.push(1),
  async approve({ toolCall, questions: [{ title }] }) {
    questions.push(title);
    return { approved: toolCall.id === "yes" };
  },
  async beforeToolCall({ toolCall }) {
    return toolCall.id === "blocked" ? { decision: "block", reason: "not today" } : { decision: "allow" };
  },
  async afterToolCall({ toolCall }) {
    return toolCall.id === "changed" ? { content: [{ type: "text", text: "changed" }] } : {};
  },
  async execute({ arguments: { n } }, _signal, update) {
    update({ content: [{ type: "text", text: "half" }] });
    if (n === 13) throw new Error("unlucky");
    return { content: [{ type: "text", text: String(n * 2) }] };
  },
});
assert.equal(toolgate.server.protocol, 1);
assert.ok((await toolgate.tools()).some(({ name }) => name === "calc"));

// Two batches at the same time.
const [first, second] = await Promise.all([
  toolgate.run([call("a", "calc", { expression: "6*7" }), call("b", "nothing")], { onEvent: (event) => events.push(event) }),
  toolgate.run([call("a", "echo", { n: 1 })], { turn: "t", conversation: "k", mode: "sequential" }),
]);
assert.deepEqual(first.messages.map(text), ["42", "Tool nothing not found"]);
assert.deepEqual(second.messages[0].structuredContent, { n: 1 });
const types = events.flatMap(({ event }) => event?.type ?? []);
assert.deepEqual(types.slice(0, 3), ["tool_execution_start", "tool_execution_start", "tool_execution_end"]);
assert.deepEqual(events.flatMap(({ step }) => step ?? []), ["hook", "prepared", "executing", "executed"]);

// A question, log lines, and tools and hooks of the client's own.
const asked = await toolgate.run([call("yes", "now"), call("no", "now"), call("p", "flood-logs", { n: 2 })]);
assert.deepEqual(asked.messages.map(({ isError }) => isError), [false, true, false]);
assert.deepEqual([questions.length, logs.length], [2, 2]);
const parameters = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const tools = [{ name: "double", description: "Twice", parameters }];
await toolgate.request("offer", { name: "mine", tools, hooks: ["before-tool-call", "after-tool-call"] });
const own = await toolgate.run([
  call("a", "double", { n: "4" }), call("b", "double", { n: 13 }), call("blocked", "calc", { expression: "1" }),
  call("changed", "calc", { expression: "1" }),
]);
assert.deepEqual(own.messages.map(text), ["8", "unlucky", "not today", "changed"]);
assert.equal(changes.length, 1);

// Cancelled, a batch still ends, with its results.
const cancelled = await toolgate.run([call("a", "sleep", { ms: 60_000 })], { signal: AbortSignal.timeout(200) });
assert.equal(cancelled.messages[0].error.kind, "aborted");
await assert.rejects(toolgate.request("run", { message: 7 }), (error) => error instanceof ToolgateError && error.code === -32602);
await toolgate.close();
await assert.rejects(toolgate.request("tools"), /has ended/);
console.log("ok");

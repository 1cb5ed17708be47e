// pi's real agent loop with a scripted model, on Toolgate's components: node turn.mjs TOOLGATE [ARGUMENT...]
import assert from "node:assert/strict";
import { Agent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai";
import { ToolgatePi } from "./dist/index.js";

const command = process.argv.slice(2);
const model = {
  id: "scripted", name: "scripted", api: "scripted", provider: "scripted", baseUrl: "", reasoning: false, input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1e5, maxTokens: 1e4,
};

/** A model that answers with these contents, one after another, and keeps what it was asked. */
function scripted(...answers) {
  const asked = [];
  const streamFn = (_model, context) => {
    asked.push({ tools: context.tools, messages: context.messages.map((message) => structuredClone(message)) });
    const content = answers.shift() ?? [{ type: "text", text: "done" }];
    const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
    const message = {
      role: "assistant", content, api: "scripted", provider: "scripted", model: "scripted", stopReason, timestamp: Date.now(),
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
    };
    const stream = createAssistantMessageEventStream();
    queueMicrotask(() => {
      stream.push({ type: "start", partial: message });
      stream.push({ type: "done", reason: stopReason, message });
    });
    return stream;
  };
  return { asked, streamFn };
}

const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
const text = ({ content }) => content.map((block) => block.text).join("\n");

/** One prompt with these calls: what came of it. */
async function turn(options, calls, { mode = "parallel", also = () => {} } = {}) {
  const toolgate = await ToolgatePi.start(command, options);
  try {
    const script = scripted(...(Array.isArray(calls[0]) ? calls : [calls]));
    const agent = new Agent({ streamFn: script.streamFn, initialState: { model, systemPrompt: "s" }, toolExecution: mode });
    toolgate.attach(agent);
    const events = [];
    agent.subscribe((event) => {
      events.push(event);
      also(event, agent);
    });
    await agent.prompt("go");
    assert.equal(agent.state.errorMessage, undefined);
    const results = agent.state.messages.filter(({ role }) => role === "toolResult");
    const trace = events.flatMap(({ type, toolCallId, message }) =>
      type.startsWith("tool_execution") ? [`${type.slice(15)} ${toolCallId}`]
        : type.startsWith("message") && message.role === "toolResult" ? [`${type} ${message.toolCallId}`] : []);
    return { events, results, trace, asked: script.asked, agent };
  } finally {
    await toolgate.close();
  }
}

const tests = {
  async "three calls on components"() {
    const { events, results, trace, asked } = await turn({}, [
      call("a", "calc", { expression: "6*7" }),
      call("b", "flood-updates", { n: 3 }),
      call("c", "echo", { x: [1, "two"] }),
    ]);
    assert.equal(text(results[0]), "42");
    assert.deepEqual(results.map(({ toolCallId, isError }) => [toolCallId, isError]), [["a", false], ["b", false], ["c", false]]);
    assert.deepEqual(trace.slice(0, 3), ["start a", "start b", "start c"]);
    assert.deepEqual(trace.filter((row) => row.endsWith(" b")).slice(1, 5), ["update b", "update b", "update b", "end b"]);
    assert.deepEqual(trace.slice(-6), ["a", "b", "c"].flatMap((id) => [`message_start ${id}`, `message_end ${id}`]));
    const updates = events.filter(({ type }) => type === "tool_execution_update");
    assert.deepEqual(updates.map(({ partialResult }) => text(partialResult)), ["0", "1", "2"]);
    // What the model is shown next are these results.
    const shown = asked[1].messages.filter(({ role }) => role === "toolResult");
    assert.deepEqual(shown.map(text), results.map(text));
  },

  async "sequential, as pi says"() {
    const calls = [call("a", "calc", { expression: "1" }), call("b", "panic", { message: "x" }), call("c", "calc", { expression: "3" })];
    const { trace } = await turn({}, calls, { mode: "sequential" });
    assert.deepEqual(trace, ["a", "b", "c"].flatMap((id) => [`start ${id}`, `end ${id}`, `message_start ${id}`, `message_end ${id}`]));
  },

  async "refused, failed and unknown calls"() {
    const { results } = await turn({}, [
      call("pi", "calc", { expression: 7, bogus: {} }),
      call("block", "print", { text: "secret" }),
      call("trap", "panic", { message: "oh no" }),
      call("unknown", "nothing", {}),
      call("bad", "calc", {}),
      call("good", "calc", { expression: "2" }),
    ]);
    const [, block, trap, unknown, bad, good] = results;
    assert.match(text(block), /not allowed|block|print/i);
    assert.match(text(trap), /oh no|panic|trap/i);
    assert.match(text(unknown), /^Tool nothing not found$/);
    assert.match(text(bad), /^Validation failed for tool "calc":\n {2}- expression/);
    assert.equal(text(good), "2");
    assert.deepEqual([block, trap, unknown, bad, good].map(({ isError }) => isError), [true, true, true, true, false]);
  },

  async "pi's own tools and hooks inside the pipeline"() {
    const seen = [];
    const own = (name, execute) => ({ name, label: name, description: name, execute,
      parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } });
    const options = {
      tools: [
        own("own", async (id, args, _signal, onUpdate) => {
          onUpdate({ content: [{ type: "text", text: "half" }], details: {} });
          return { content: [{ type: "text", text: `${id} ${JSON.stringify(args)}` }], details: { own: true } };
        }),
        own("print-own", async () => assert.fail("the gate blocks it")),
        own("breaks", async () => { throw new Error("it broke"); }),
      ],
      async beforeToolCall({ toolCall, args }) {
        seen.push(`before ${toolCall.id}`);
        if (toolCall.id === "no") return { block: true, reason: "not today" };
        if (toolCall.id === "own") args.n += 1;
      },
      async afterToolCall({ toolCall, result }) {
        seen.push(`after ${toolCall.id}`);
        if (toolCall.id === "own") return { content: [{ type: "text", text: `${text(result)}!` }] };
      },
    };
    const { results, trace } = await turn(options, [
      call("own", "own", { n: "1" }), call("no", "own", { n: 1 }), call("gate", "print-own", { n: 1 }),
      call("breaks", "breaks", { n: 1 }), call("calc", "calc", { expression: "5" }),
    ]);
    assert.deepEqual(results.map(text).slice(0, 2), ['own {"n":2}!', "not today"]);
    assert.deepEqual(results[0].details, { own: true });
    assert.deepEqual(results.map(text).slice(3), ["it broke", "5"]);
    assert.deepEqual(results.map(({ isError }) => isError), [false, true, true, true, false]);
    assert.ok(trace.indexOf("update own") < trace.indexOf("end own"));
    // What the gate blocks, pi's own hook does not see; and before hooks come in the model's order.
    assert.deepEqual(seen.filter((row) => row.startsWith("before")), ["before own", "before no", "before breaks", "before calc"]);
    assert.deepEqual(seen.filter((row) => row.startsWith("after")).sort(), ["after breaks", "after calc", "after own"]);
  },

  async "a hook that asks"() {
    const questions = [];
    const approve = async ({ toolCall, questions: [{ title }] }) => {
      questions.push(title);
      return toolCall.id === "yes" ? { approved: true } : { approved: false, reason: "no" };
    };
    const calls = [call("yes", "now", {}), call("no", "now", {})];
    const { results } = await turn({ approve }, calls);
    assert.equal(questions.length, 2);
    assert.equal(results[0].isError, false);
    assert.equal(text(results[1]), "Tool execution was declined: no");
  },

  async "abort reaches the guest"() {
    const started = Date.now();
    const also = ({ type, toolCallId }, agent) => {
      if (type === "tool_execution_start" && toolCallId === "b") setTimeout(() => agent.abort(), 100);
    };
    const calls = [call("a", "wait-cancel", {}), call("b", "sleep", { ms: 20_000 })];
    const toolgate = await ToolgatePi.start(command);
    const { streamFn } = scripted(calls);
    const agent = new Agent({ streamFn, initialState: { model } });
    toolgate.attach(agent);
    const ends = [];
    agent.subscribe((event) => {
      also(event, agent);
      if (event.type === "tool_execution_end") ends.push(event.isError);
    });
    await agent.prompt("go");
    assert.ok(Date.now() - started < 15_000, "the guest went on");
    assert.deepEqual(ends, [true, true]);
    await toolgate.close();
  },

  async "a tool that a result adds can be called in the next turn"() {
    const tools = [{ name: "unlock", label: "unlock", description: "", parameters: { type: "object" },
      execute: async () => ({ content: [], details: {}, addedToolNames: ["config"] }) }];
    const { results, agent } = await turn({ tools }, [
      [call("early", "config", {}), call("unlock", "unlock", {})], [call("late", "config", {})],
    ]);
    assert.deepEqual(results.map(({ toolCallId, isError }) => [toolCallId, isError]), [["early", true], ["unlock", false], ["late", false]]);
    assert.ok(agent.state.tools.some(({ name }) => name === "config"));
  },

  async "Toolgate that ends is an error result"() {
    const calls = [call("a", "sleep", { ms: 20_000 })];
    const toolgate = await ToolgatePi.start(command);
    const { streamFn } = scripted(calls);
    const agent = new Agent({ streamFn, initialState: { model } });
    toolgate.attach(agent);
    agent.subscribe(({ type }) => {
      if (type === "tool_execution_start") setTimeout(() => toolgate.kill(), 100);
    });
    await agent.prompt("go");
    const [result] = agent.state.messages.filter(({ role }) => role === "toolResult");
    assert.deepEqual([result.isError, /toolgate has ended/.test(text(result))], [true, true]);
  },
};

for (const [name, test] of Object.entries(tests)) {
  await test();
  console.log(`ok ${name}`);
}

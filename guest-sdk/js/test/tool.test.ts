import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Content, ToolError, defineTool, isRawNumber, joinedText, json, log } from "@toolgate/sdk";
import * as testing from "@toolgate/sdk/testing";
import * as v from "valibot";
import { Type } from "typebox";
import * as z from "zod";
import { toolExports } from "../src/exports.js";
import { withJsonSchema } from "../src/schema.js";

afterEach(testing.reset);

const of = (execute: () => unknown) =>
  defineTool({ name: "t", description: "A tool.", execute: execute as () => string });

async function message(execute: () => unknown): Promise<string> {
  const error = await testing.call(of(execute)).then(
    () => assert.fail("it succeeded"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof ToolError, String(error));
  return error.message;
}

test("an answer is a string, content, a list or a result", async () => {
  const text = (text: string) => ({ type: "text", text });
  for (const [answer, content] of [
    ["a", [text("a")]],
    [undefined, []],
    [Content.text("b"), [text("b")]],
    [["a", Content.text("b")], [text("a"), text("b")]],
    [{ content: "a" }, [text("a")]],
    [{ details: null }, []],
  ] as const) {
    assert.deepEqual((await testing.call(of(() => answer))).content, content);
  }
  const all = { content: [text("a")], details: null, structuredContent: [1], usage: {}, terminate: false, addedToolNames: [] };
  assert.deepEqual(await testing.call(of(() => all)), { ...all, isError: false });
  assert.deepEqual(await testing.call(of(() => json({ a: [1] }))), {
    content: [text('{"a":[1]}')],
    structuredContent: { a: [1] },
    isError: false,
  });
});

test("what is no answer is an error that says what to do", async () => {
  assert.match(await message(() => ({ rows: [] })), /`rows`.*json\(value\)/);
  assert.match(await message(() => ({})), /empty object/);
  assert.match(await message(() => 7), /not with number/);
  assert.match(await message(() => null), /not with null/);
  assert.match(await message(() => [7]), /content block.*number/);
  assert.match(await message(() => Content.image("x" as never, "image/png")), /Uint8Array, not string/);
  assert.match(await message(() => ({ details: () => {} })), /details: JSON has no form/);
});

test("whatever is thrown or rejected is the message", async () => {
  const throwing = (thrown: unknown) => () => {
    throw thrown;
  };
  assert.equal(await message(throwing(new ToolError("told"))), "told");
  assert.equal(await message(throwing(new TypeError("broken"))), "broken");
  assert.equal(await message(throwing(new Error(""))), "Error");
  assert.equal(await message(throwing("a string")), "a string");
  assert.equal(await message(throwing(7)), "7 was thrown");
  assert.equal(await message(throwing(undefined)), "undefined was thrown");
  assert.equal(await message(throwing({ message: "like an error" })), "like an error");
  assert.equal(await message(throwing({ code: 7 })), '{"code":7} was thrown');
  assert.equal(await message(throwing(new AggregateError([new Error("a"), "b"], "both"))), "both\na\nb");
  assert.equal(await message(() => Promise.reject(new Error("rejected"))), "rejected");
  const causes = new Error("bad port", { cause: new Error("not a number", { cause: new Error("not a number") }) });
  assert.equal(await message(throwing(causes)), "bad port: not a number");
  const circle = new Error("a");
  circle.cause = circle;
  assert.equal(await message(throwing(circle)), "a");
});

test("an aborted operation is a cancelled call only where the batch is cancelled", async () => {
  const tool = defineTool({ name: "t", description: "d", execute: (_, cx) => cx.signal.throwIfAborted() });
  assert.deepEqual((await testing.call(tool)).content, []);
  testing.setCancelled(true);
  const waiting = defineTool({
    name: "t",
    description: "d",
    async execute(_, cx) {
      if (await cx.wait(1000)) cx.signal.throwIfAborted();
      return "not cancelled";
    },
  });
  await assert.rejects(testing.call(waiting), (error: ToolError) => error.isCancelled);
  testing.setCancelled(false);
  const ownAbort = of(() => AbortSignal.abort().throwIfAborted());
  await assert.rejects(testing.call(ownAbort), (error: ToolError) => !error.isCancelled);
});

test("numbers keep their digits where the tool wants them exact", async () => {
  const parameters = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
  const exact = defineTool({ name: "t", description: "d", parameters, numbers: "exact", execute: ({ n }) => json(n) });
  const plain = defineTool({ name: "t", description: "d", parameters, execute: ({ n }) => json(n) });
  const run = async (tool: typeof exact, n: string) =>
    (await toolExports([tool]).execute({ id: "c", name: "t", arguments: `{"n":${n}}` })).structuredContent;
  for (const n of ["9007199254740993", "1e400", "-0", "0.12345678901234567890", "-1.5", "0.1", "42"]) {
    assert.equal(await run(exact, n), n);
  }
  // What a JavaScript number holds is one, however it is written.
  assert.equal(await run(exact, "50.0"), "50");
  assert.equal(await run(exact, "1e3"), "1000");
  assert.equal(await run(plain, "9007199254740993"), "9007199254740992");
  assert.equal((await testing.call(of(() => json({ big: 2n ** 64n })))).content[0]?.type, "text");
  assert.equal(joinedText(await testing.call(of(() => json({ big: 2n ** 64n })))), '{"big":18446744073709551616}');
});

test("text that is no Unicode is repaired, not refused", async () => {
  const result = await testing.call(of(() => ({ content: "a\ud800b", details: { "k\udc00": "\ud800\ud83d\ude00" } })));
  assert.deepEqual(result.content, [{ type: "text", text: "a\ufffdb" }]);
  assert.deepEqual(result.details, { "k\ufffd": "\ufffd😀" });
  assert.equal(await message(() => Promise.reject(new Error("\ud800"))), "\ufffd");
});

test("parameters of every kind become JSON Schema and typed arguments", async () => {
  const define = async (tool: ReturnType<typeof of>) => {
    const [definition] = await toolExports([tool]).definitions();
    return JSON.parse(definition?.parameters ?? "") as Record<string, unknown>;
  };
  const zod = defineTool({
    name: "zod",
    description: "d",
    parameters: z.object({ name: z.string().describe("Whom."), times: z.number().int().default(2) }),
    execute: ({ name, times }) => name.repeat(times),
  });
  const schema = await define(zod);
  assert.deepEqual(schema.required, ["name"]);
  assert.equal(schema.$schema, undefined);
  assert.equal((schema.properties as { name: { description: string } }).name.description, "Whom.");
  assert.equal(joinedText(await testing.call(zod, { name: "a" })), "aa");

  const refined = defineTool({
    name: "refined",
    description: "d",
    parameters: z.object({ word: z.string().refine((word) => word !== "no", "not that word") }),
    execute: ({ word }) => word,
  });
  await assert.rejects(testing.call(refined, { word: "no" }), /Invalid arguments: word: not that word/);

  const shape = v.object({ name: v.pipe(v.string(), v.toUpperCase()) });
  const valibot = (parameters: typeof shape) =>
    defineTool({ name: "valibot", description: "d", parameters, execute: ({ name }) => name });
  await assert.rejects(async () => define(valibot(shape)), /valibot schema can't say its JSON Schema.*withJsonSchema/);
  const beside = { type: "object", properties: { name: { type: "string" } } };
  const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", ...beside };
  assert.deepEqual(await define(valibot(withJsonSchema(shape, draft7))), beside);
  const draft4 = { $schema: "http://json-schema.org/draft-04/schema#", ...beside };
  await assert.rejects(async () => define(valibot(withJsonSchema(shape, draft4))), /draft-04.* is not .*2020-12/);
  assert.equal(joinedText(await testing.call(valibot(withJsonSchema(shape, beside)), { name: "a" })), "A");

  const typebox = defineTool({
    name: "typebox",
    description: "d",
    parameters: Type.Object({ name: Type.String(), times: Type.Optional(Type.Integer()) }),
    execute: ({ name, times = 1 }) => name.repeat(times),
  });
  assert.deepEqual(await define(typebox), {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" }, times: { type: "integer" } },
  });
  assert.equal(joinedText(await testing.call(typebox, { name: "a", times: 3 })), "aaa");
});

test("a definition says all that it was given", async () => {
  const tool = defineTool({
    name: "all",
    label: "All",
    description: " Does all. ",
    parameters: { type: "object" },
    output: { type: "object", properties: { n: { type: "integer" } } },
    executionMode: "sequential",
    exclusive: [{ path: "/path", access: "write" }, { value: "/id", access: "read" }],
    hints: { readOnly: false, openWorld: true },
    meta: { a: 1 },
    prepareArguments: (args) => args,
    execute: () => ({ structuredContent: { n: 1 } }),
  });
  const [definition] = await toolExports(() => tool).definitions();
  assert.deepEqual(definition, {
    name: "all",
    label: "All",
    description: "Does all.",
    parameters: '{"type":"object"}',
    output: '{"type":"object","properties":{"n":{"type":"integer"}}}',
    executionMode: "sequential",
    exclusive: [
      { pointer: "/path", isPath: true, access: "write" },
      { pointer: "/id", isPath: false, access: "read" },
    ],
    preparesArguments: true,
    hints: { readOnly: false, destructive: undefined, idempotent: undefined, openWorld: true },
    meta: '{"a":1}',
  });
});

test("tools may be made from settings, and what is no tool is named", async () => {
  testing.setConfig({ words: ["yes", "no"] });
  const exports = toolExports((async () => {
    const { host } = await import("@toolgate/sdk");
    const words = host.configKey<string[]>("words") ?? [];
    return words.map((name) => defineTool({ name, description: name, execute: () => name }));
  }) as never);
  assert.deepEqual((await exports.definitions()).map((tool) => tool.name), ["yes", "no"]);
  assert.equal((await exports.execute({ id: "c", name: "no", arguments: "{}" })).content.length, 1);
  assert.throws(() => toolExports([of(() => "a"), {} as never]), /tools\[1\] is an object, not made by defineTool/);
});

test("the call's surroundings", async () => {
  testing.setConfig({ a: { b: 1 } });
  testing.setBatch({ position: 1, size: 2, turn: "t", conversation: "c", assistantMessage: { content: [] } });
  const tool = defineTool({
    name: "t",
    description: "d",
    prepareArguments: (args) => ({ ...(args as object), prepared: true }),
    execute(args, cx) {
      cx.update("half");
      log.info("read", { n: 1 }, "bytes");
      const state = cx.state("turn");
      state.set("list", ["é"]);
      assert.deepEqual(state.get("list"), ["é"]);
      assert.equal(state.get("other"), undefined);
      assert.equal(state.add("n", 1) + state.add("n", 1.5), 3.5);
      assert.throws(() => state.add("list", 1), /not a number/);
      assert.throws(() => state.set("f", () => {}), /`f`/);
      state.remove("list");
      assert.equal(state.getBytes("list"), undefined);
      const { position, size, turn, conversation, assistantMessage } = cx.batch;
      return json({ args, call: cx.call, config: cx.config(), a: cx.configKey("a"), b: cx.configKey("b") ?? null, position, size, turn, conversation, assistantMessage, cancelled: cx.isCancelled });
    },
  });
  const result = await testing.call(tool, { x: 1 });
  assert.deepEqual(result.structuredContent, {
    args: { x: 1, prepared: true },
    call: { id: "call", name: "t", arguments: '{"x":1,"prepared":true}' },
    config: { a: { b: 1 } },
    a: { b: 1 },
    b: null,
    position: 1,
    size: 2,
    turn: "t",
    conversation: "c",
    assistantMessage: { content: [] },
    cancelled: false,
  });
  assert.deepEqual(testing.updates().map(joinedText), ["half"]);
  assert.deepEqual(testing.logs(), [{ level: "info", message: 'read {"n":1} bytes' }]);
});

test("a number that is kept as its text says so", () => {
  assert.equal(isRawNumber(1), false);
  assert.equal(isRawNumber({ rawJSON: "1" }), false);
});

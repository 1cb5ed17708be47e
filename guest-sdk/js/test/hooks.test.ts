import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Content, Decision, type HookSettings, defineHooks, joinedText, log } from "@toolgate/sdk";
import * as testing from "@toolgate/sdk/testing";
import { hookExports } from "../src/exports.js";

afterEach(testing.reset);

const onBefore = (beforeToolCall: HookSettings["beforeToolCall"]) => defineHooks({ tools: ["t"], beforeToolCall: beforeToolCall! });
const onAfter = (afterToolCall: HookSettings["afterToolCall"]) => defineHooks({ afterToolCall: afterToolCall! });

test("a hook subscribes to the events it has a function for", async () => {
  const hooks = [
    defineHooks({ tools: ["a"], beforeToolCall: () => {}, settled: () => {} }),
    defineHooks({ afterToolCall: () => {} }),
  ];
  assert.deepEqual(await hookExports(hooks).subscriptions(), [
    { event: "before-tool-call", tools: ["a"] },
    { event: "settled", tools: ["a"] },
    { event: "after-tool-call", tools: undefined },
  ]);
});

test("a replacement reaches the next hook, with its digits, and a block wins", async () => {
  const replace = onBefore((cx) => Decision.replace({ ...cx.parseArguments(), n: 1 }));
  const look = onBefore((cx) => (cx.parseArguments().n === 1 ? Decision.block("saw it") : undefined));
  assert.deepEqual(await testing.before([replace], "t", { a: 1 }), Decision.replace({ a: 1, n: 1 }));
  assert.deepEqual(await testing.before([replace, look], "t", {}), Decision.block("saw it"));
  assert.deepEqual(await testing.before([look, look], "t", {}), Decision.allow());
  assert.deepEqual(await testing.before([replace], "other", {}), Decision.allow());
  const wire = { call: { id: "c", name: "t", arguments: "{}" }, arguments: '{"big":9007199254740993}' };
  assert.deepEqual(await hookExports(replace).beforeToolCall(wire), {
    tag: "replace-arguments",
    val: '{"big":9007199254740993,"n":1}',
  });
});

test("questions become one, a block after them wins, a replacement beside them is refused", async () => {
  const ask = onBefore(() => Decision.ask("Delete?", "All of it."));
  const pay = onBefore(async () => Decision.ask("Pay?", "One euro."));
  const block = onBefore(() => Decision.block("no", { terminate: true }));
  const replace = onBefore(() => Decision.replace({}));
  assert.deepEqual(await testing.before([ask, pay], "t", {}), Decision.ask("Delete?; Pay?", "All of it.\n\nOne euro."));
  assert.deepEqual(await testing.before([ask, block], "t", {}), Decision.block("no", { terminate: true }));
  await assert.rejects(testing.before([replace, ask], "t", {}), /plugins of their own/);
  await assert.rejects(testing.before([ask, replace], "t", {}), /plugins of their own/);
});

test("what a hook throws is its error", async () => {
  const broken = onBefore(() => {
    throw new Error("hook broke");
  });
  await assert.rejects(testing.before([broken], "t", {}), { message: "hook broke" });
  await assert.rejects(testing.before([onBefore(() => "yes" as never)], "t", {}), /Decision or nothing/);
  await assert.rejects(testing.after([onAfter(() => "yes" as never)], "t", { result: "a" }), /object of fields/);
});

test("overrides add up as if done one after another", async () => {
  const result = { content: "secret", details: 1, structuredContent: { s: "secret" } };
  const data = onAfter(() => ({ structuredContent: { s: 1 }, isError: true }));
  const redact = onAfter((cx) => ({ content: `${joinedText(cx.result).length} ${cx.isError}` }));
  assert.deepEqual(await testing.after([data, redact], "t", { result }), {
    content: [Content.text("6 true")],
    isError: true,
  });
  assert.deepEqual((await testing.after([redact, data], "t", { result }))?.structuredContent, { s: 1 });
  assert.equal(await testing.after([onAfter(() => {})], "t", { result }), undefined);
  assert.deepEqual(await testing.after([onAfter(() => ({ details: null, content: [] }))], "t", { result }), {
    details: null,
    content: [],
  });
});

test("a settled hook sees how a call ended, and its failure is only logged", async () => {
  const seen: unknown[] = [];
  const watch = defineHooks({
    settled(cx) {
      seen.push([cx.call.name, cx.isError, cx.error, cx.durationMs, cx.parseArguments()]);
      log.info("seen");
      throw new Error("full");
    },
  });
  const error = { kind: "tool-failed", stage: "execute" };
  await testing.settled([watch], "t", { arguments: { a: 1 }, result: "x", isError: true, error, durationMs: 2 });
  assert.deepEqual(seen, [["t", true, error, 2, { a: 1 }]]);
  assert.match(testing.logs().at(-1)?.message ?? "", /settled hook failed: full/);
});

test("every kind of content survives the way to a hook", async () => {
  const blocks = [
    Content.text("a", { annotations: { priority: 1 }, _meta: { m: 1 } }),
    Content.image(Uint8Array.of(1), "image/png"),
    Content.audio(Uint8Array.of(2), "audio/wav"),
    Content.resourceLink("file:///a", "a", { title: "A", description: "d", mimeType: "text/plain", size: 3 }),
    Content.resource("mem://t", "é", { mimeType: "text/plain" }),
    Content.resourceBlob("mem://b", Uint8Array.of(0, 255)),
  ];
  let seen: unknown;
  await testing.after([onAfter((cx) => void (seen = cx.result.content))], "t", { result: blocks });
  assert.deepEqual(seen, blocks);
});

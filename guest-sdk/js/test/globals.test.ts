// The globals that QuickJS lacks, beside Node's own.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import "@toolgate/sdk/testing";
import { TextDecoder as Decoder, TextEncoder as Encoder } from "../src/globals/encoding.js";
import { AbortController as Controller, AbortSignal as Signal } from "../src/globals/events.js";
import { Promised, runJobs } from "../src/globals/promise.js";
import { crypto as random, random as mathRandom, useRandom } from "../src/globals/random.js";
import { structuredClone as clone } from "../src/globals/structured-clone.js";

/** The same bytes every time. */
function* bytes(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    yield state >> 16;
  }
}

test("text is encoded as Node does", () => {
  const encoder = new Encoder();
  const texts = ["", "a", "é", "日本", "😀", "a\ud800b", "\udc00", "\ud83d", "x".repeat(100_000), "😀é\u0000".repeat(1000)];
  for (const text of texts) assert.deepEqual(encoder.encode(text), new TextEncoder().encode(text));
  const small = new Uint8Array(5);
  assert.deepEqual(encoder.encodeInto("aé😀", small), { read: 2, written: 3 });
});

test("bytes are decoded as Node does, in one piece and in many", () => {
  const source = bytes(7);
  const interesting = [0x00, 0x41, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xbb, 0xf0, 0xf4, 0xf5, 0xff];
  for (let round = 0; round < 3000; round += 1) {
    const length = (source.next().value as number) % 9;
    const input = Uint8Array.from({ length }, () => interesting[(source.next().value as number) % interesting.length] as number);
    assert.equal(new Decoder().decode(input), new TextDecoder().decode(input), String(input));
    const [streamed, native] = [new Decoder(), new TextDecoder()];
    for (const byte of input) {
      assert.equal(streamed.decode(Uint8Array.of(byte), { stream: true }), native.decode(Uint8Array.of(byte), { stream: true }), String(input));
    }
    assert.equal(streamed.decode(), native.decode(), String(input));
    const fatal = (decoder: TextDecoder | Decoder) => {
      try {
        return decoder.decode(input);
      } catch {
        return undefined;
      }
    };
    assert.equal(fatal(new Decoder("utf8", { fatal: true })), fatal(new TextDecoder("utf8", { fatal: true })), String(input));
  }
  assert.throws(() => new Decoder("latin1"), RangeError);
});

test("clones equal Node's", () => {
  const shared = { a: 1 };
  const value: Record<string, unknown> = {
    shared: [shared, shared],
    date: new Date(7),
    pattern: /a/gi,
    map: new Map<unknown, unknown>([[{ k: 1 }, new Set([1, "2"])]]),
    bytes: new Uint8Array([1, 2, 3]).subarray(1),
    view: new DataView(new ArrayBuffer(4), 1, 2),
    error: new RangeError("r"),
    boxed: Object("text"),
    sparse: [1, , 3],
    big: 7n,
    nothing: [undefined, null, NaN, -0],
  };
  value.self = value;
  const copy = clone(value);
  assert.deepEqual(copy, structuredClone(value));
  assert.equal(copy.self, copy);
  assert.equal((copy.shared as unknown[])[0], (copy.shared as unknown[])[1]);
  assert.throws(() => clone({ f: () => {} }), { name: "DataCloneError" });
});

test("a signal aborts once, with its dependents", () => {
  const controller = new Controller();
  const seen: string[] = [];
  const combined = Signal.any([controller.signal, Signal.timeout(1000)]);
  controller.signal.addEventListener("abort", () => seen.push("listener"), { once: true });
  controller.signal.onabort = () => seen.push("property");
  combined.addEventListener("abort", { handleEvent: () => seen.push("combined") });
  assert.equal(combined.aborted, false);
  controller.abort("why");
  controller.abort("again");
  assert.deepEqual(seen, ["property", "listener", "combined"]);
  assert.equal(combined.reason, "why");
  assert.throws(() => combined.throwIfAborted(), (reason) => reason === "why");
  assert.equal((Signal.abort().reason as DOMException).name, "AbortError");
  assert.throws(() => new Signal(), TypeError);
});

test("promises combine as the language's own", () => {
  const take = async (source: PromiseConstructor) => {
    const late = new source<string>((resolve) => resolve("late"));
    const failed = () => source.reject(new Error("no"));
    return [
      await source.all([1, late, { then: (resolve: (value: string) => void) => resolve("thenable") }]),
      await source.allSettled([1, failed()]),
      await source.any([failed(), late]),
      await source.any([failed()]).catch((error: AggregateError) => [error.name, error.errors.length]),
      await source.race([late, 1]),
      await source.all([]),
      await late.finally(() => "ignored"),
      await failed().catch((error: Error) => error.message),
      await failed().finally(() => {}).catch((error: Error) => error.message),
    ];
  };
  let outcome: unknown;
  void take(Promised as unknown as PromiseConstructor).then((value) => (outcome = value));
  const loop = setInterval(runJobs, 0);
  return take(Promise).then(async (expected) => {
    while (outcome === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    clearInterval(loop);
    assert.deepEqual(outcome, expected);
  });
});

test("jobs run in the order of the language's own", async () => {
  const order = (source: PromiseConstructor, log: string[]) => {
    const p = source.resolve();
    void p.then(() => log.push("a1")).then(() => log.push("a2")).then(() => log.push("a3"));
    void source.resolve(p).then(() => log.push("b1"));
    void new source((resolve) => resolve(p)).then(() => log.push("c"));
    void source.reject(1).then(undefined, () => log.push("d1")).finally(() => log.push("d2"));
  };
  const [ours, native]: [string[], string[]] = [[], []];
  order(Promised as unknown as PromiseConstructor, ours);
  runJobs();
  order(Promise, native);
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(ours, native);
});

test("random numbers come from the given bytes", () => {
  const source = bytes(3);
  useRandom((length) => Uint8Array.from({ length }, () => source.next().value as number));
  const numbers = Array.from({ length: 1000 }, mathRandom);
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  assert.ok(new Set(numbers).size > 990);
  assert.match(random.randomUUID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.throws(() => random.getRandomValues(new Float64Array(1)), { name: "TypeMismatchError" });
  assert.notDeepEqual(random.getRandomValues(new Uint32Array(600)), new Uint32Array(600));
});

test("the SDK's copy of the contract is the released one", () => {
  const [own, released] = ["wit/deps/toolgate-plugin", "../../wit/released/0.1.0/plugin"];
  assert.deepEqual(readdirSync(own).sort(), readdirSync(released).sort());
  for (const file of readdirSync(own)) {
    assert.equal(readFileSync(`${own}/${file}`, "utf8"), readFileSync(`${released}/${file}`, "utf8"), file);
  }
});

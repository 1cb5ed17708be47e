// A test guest that tries what the JavaScript SDK puts around an engine: promises, timers, cancellation, globals.

import { ToolError, defineTool, env, files, grantedPaths, json, log } from "@toolgate/sdk";
import * as z from "zod";

const tool = (name: string, execute: Parameters<typeof defineTool>[0]["execute"]) =>
  defineTool({ name, description: `Tries ${name}.`, execute });

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function* counted(to: number) {
  for (let n = 1; n <= to; n += 1) {
    await pause(1);
    yield n;
  }
}

const builtAt = Math.random();

export const tools = [
  tool("order", async () => {
    const seen: string[] = [];
    setTimeout(() => seen.push("timer 20"), 20);
    setTimeout((name: string) => seen.push(name), 5, "timer 5");
    const dropped = setTimeout(() => seen.push("dropped"), 1);
    clearTimeout(dropped);
    const beat = setInterval(() => {
      seen.push("interval");
      clearInterval(beat);
    }, 10);
    queueMicrotask(() => seen.push("microtask"));
    Promise.resolve().then(() => seen.push("promise"));
    seen.push("now");
    await pause(40);
    return json(seen);
  }),

  tool("combine", async (_args, cx) => {
    const [a, b] = await Promise.all([pause(5).then(() => "a"), cx.wait(5)]);
    const race = await Promise.race([pause(10_000), "fast"]);
    const any = await Promise.any([Promise.reject(new Error("no")), pause(1).then(() => "any")]);
    const settled = await Promise.allSettled([1, Promise.reject("x")]);
    const numbers: number[] = [];
    for await (const n of counted(3)) numbers.push(n);
    const from = await Array.fromAsync(counted(2));
    return json({ a, b, race, any, settled, numbers, from });
  }),

  tool("globals", async () => {
    const { signal } = new AbortController();
    const bytes = new TextEncoder().encode("é😀");
    return json({
      text: new TextDecoder().decode(bytes),
      bytes: bytes.length,
      clone: structuredClone({ at: new Date(5), set: new Set([1]) }).at.getTime(),
      base64: atob(btoa("abc")),
      aborted: [signal.aborted, AbortSignal.abort().aborted, AbortSignal.any([signal, AbortSignal.abort()]).aborted],
      timeout: await new Promise((resolve) => {
        const limit = AbortSignal.timeout(5);
        limit.addEventListener("abort", () => resolve((limit.reason as Error).name));
      }),
      elapsed: performance.now() >= 0 && performance.now() < 60_000,
      clock: Math.abs(performance.timeOrigin - Date.now()) < 600_000,
    });
  }),

  tool("random", () => json([Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(8))], builtAt])),

  tool("console", () => {
    console.log("%s has %d", "it", 7, { a: 1 });
    console.warn(new Error("careful").message);
    console.error("bad");
    log.trace("fine");
    return "";
  }),

  tool("utf8", () => {
    // The engine's own functions against the rules, on bytes that are mostly wrong.
    const interesting = [0x00, 0x41, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff];
    const wrong: string[] = [];
    for (let round = 0; round < 3000; round += 1) {
      const bytes = Uint8Array.from({ length: round % 7 }, () => interesting[Math.floor(Math.random() * interesting.length)] as number);
      const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      const pieces = Array.from(bytes, (byte) => decoder.decode(Uint8Array.of(byte), { stream: true })).join("") + decoder.decode();
      const again = new TextEncoder().encode(whole);
      if (whole !== pieces || (!whole.includes("\ufffd") && String(again) !== String(bytes))) wrong.push(String(bytes));
    }
    for (const text of ["", "a\ud800b", "\udc00", "é😀\u0000", "\u0080ÿ", "\ufeffx"]) {
      const expected = text.toWellFormed();
      if (new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text)) !== expected) wrong.push(text);
    }
    return json(wrong);
  }),

  tool("files", () => {
    files.makeDirectory("/w/new");
    files.write("/w/new/a.txt", "grün");
    files.write("/w/new/b", new Uint8Array(600_000).fill(7));
    const refused = ["/w/none", "/w/../secret", "/elsewhere", "/w/new"].map((path) => {
      try {
        return files.readText(path);
      } catch (error) {
        return (error as Error).message;
      }
    });
    const seen = {
      granted: grantedPaths(),
      env: env(),
      text: files.readText("/w/new/a.txt"),
      long: files.read("/w/new/b").reduce((sum, byte) => sum + byte, 0),
      list: files.list("/w/new"),
      size: files.stat("/w/new/b").size,
      recent: Math.abs((files.stat("/w/new/b").modified?.getTime() ?? 0) - Date.now()) < 600_000,
      refused,
    };
    files.remove("/w/new/a.txt");
    files.remove("/w/new/b");
    files.remove("/w/new");
    return json(seen);
  }),

  tool("stuck", () => new Promise<string>(() => {})),

  tool("unhandled", async () => {
    void Promise.reject(new Error("left alone"));
    return "done";
  }),

  tool("late", async (_args, cx) => {
    setTimeout(() => cx.update("too late"), 0);
    return "done";
  }),

  // --- cancelled while they wait ---

  tool("listens", (_args, cx) => {
    cx.update("waiting");
    return new Promise<string>((_, reject) => {
      cx.signal.addEventListener("abort", () => reject(cx.signal.reason));
    });
  }),

  tool("cleans-up", async (_args, cx) => {
    cx.update("waiting");
    try {
      await Promise.race([
        pause(100_000),
        new Promise((_, reject) => cx.signal.addEventListener("abort", () => reject(ToolError.cancelled()))),
      ]);
      return "not cancelled";
    } finally {
      await pause(50_000);
      log.info("cleaned up");
    }
  }),

  tool("looks", (_args, cx) => {
    cx.update("waiting");
    const { signal } = cx;
    while (!signal.aborted);
    return "saw it";
  }),

  defineTool({
    name: "zod",
    description: "Tries a schema library.",
    parameters: z.object({ word: z.string().min(1), times: z.number().int().max(3).default(2), when: z.iso.date().optional() }),
    execute: ({ word, times }) => word.repeat(times),
  }),
];

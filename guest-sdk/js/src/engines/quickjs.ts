// QuickJS: installs the globals it lacks and drives promises and timers, which nobody else would. First import of a
// component's bundle: what runs later sees these globals.

import { backend } from "../backend.js";
import { setEngine } from "../engine.js";
import { console } from "../globals/console.js";
import { TextDecoder, TextEncoder } from "../globals/encoding.js";
import { AbortController, AbortSignal, Event, EventTarget } from "../globals/events.js";
import { Promised, reportUnhandled, runJobs } from "../globals/promise.js";
import { crypto, random, resetRandom } from "../globals/random.js";
import { structuredClone } from "../globals/structured-clone.js";
import { clearTimer, queueMicrotask, resetTimers, setInterval, setTimeout, step } from "../globals/timers.js";

const monotonic = globalThis.performance;
let origin = monotonic.now();
const now = monotonic.now.bind(monotonic);

const globals = {
  Promise: Promised,
  console,
  TextEncoder,
  TextDecoder,
  Event,
  EventTarget,
  AbortController,
  AbortSignal,
  structuredClone,
  crypto,
  setTimeout,
  setInterval,
  clearTimeout: clearTimer,
  clearInterval: clearTimer,
  queueMicrotask,
  performance: {
    now: () => now() - origin,
    get timeOrigin() {
      return Date.now() - (now() - origin);
    },
  },
  self: globalThis,
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}
Math.random = random;
// Natively it makes promises of the kind that nobody drives.
Object.defineProperty(Array, "fromAsync", {
  configurable: true,
  writable: true,
  value: async (values: AsyncIterable<unknown> | Iterable<unknown>, map = (value: unknown, _at: number) => value) => {
    const all: unknown[] = [];
    for await (const value of values) all.push(await map(value, all.length));
    return all;
  },
});

/** Of the running call; made when somebody asks. */
let signal: AbortSignal | undefined;

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === "function";

setEngine({
  run<T>(entry: () => T | PromiseLike<T>, stuck: (error: Error) => unknown): T {
    resetTimers();
    resetRandom();
    signal = undefined;
    origin = now();
    const value = entry();
    if (!isThenable(value)) return value;
    let settled: { ok: true; value: T } | { ok: false; reason: unknown } | undefined;
    value.then(
      (value) => {
        settled = { ok: true, value: value as T };
      },
      (reason: unknown) => {
        settled = { ok: false, reason };
      },
    );
    runJobs();
    while (settled === undefined) {
      const moved = step(
        () => signal?.trigger(),
        () => signal?.isWatched ?? false,
      );
      if (!moved) throw stuck(new Error("The call awaits a promise that nothing can settle any more"));
      runJobs();
    }
    reportUnhandled();
    if (settled.ok) return settled.value;
    throw settled.reason;
  },

  wait(ms) {
    const signal = this.signal();
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(true);
      const cancelled = () => {
        clearTimer(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", cancelled);
        resolve(false);
      }, ms);
      signal.addEventListener("abort", cancelled);
    });
  },

  signal() {
    if (signal === undefined) {
      signal = new AbortController().signal;
      signal.poll = () => backend.cancellation.isCancelled();
    }
    return signal as unknown as globalThis.AbortSignal;
  },
});

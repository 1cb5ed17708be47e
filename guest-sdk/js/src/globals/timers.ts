// setTimeout and friends. Time passes in the host's interruptible wait, so that a cancelled batch ends it at once.

import { backend } from "../backend.js";
import { messageOf } from "../errors.js";
import { log, wholeMs } from "../host.js";
import { enqueueJob } from "./promise.js";

interface Timer {
  id: number;
  due: number;
  run: () => void;
  /** Of setInterval. */
  every: number | undefined;
}

const FOREVER = 0x7fffffff;

let timers: Timer[] = [];
let lastId = 0;
let cancelled = false;

/** Forgets what an earlier call left. */
export function resetTimers(): void {
  timers = [];
  cancelled = false;
}

function guarded(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    log.error(`${what} threw: ${messageOf(error)}`);
  }
}

function add(callback: unknown, ms: unknown, args: unknown[], repeat: boolean): number {
  if (typeof callback !== "function") throw new TypeError("The callback of a timer has to be a function");
  const delay = wholeMs(Number(ms ?? 0));
  lastId += 1;
  const run = () => guarded("A timer's callback", () => callback(...args));
  timers.push({ id: lastId, due: performance.now() + delay, run, every: repeat ? Math.max(delay, 1) : undefined });
  return lastId;
}

export const setTimeout = (callback: unknown, ms?: unknown, ...args: unknown[]) => add(callback, ms, args, false);
export const setInterval = (callback: unknown, ms?: unknown, ...args: unknown[]) => add(callback, ms, args, true);

export function clearTimer(id: unknown): void {
  timers = timers.filter((timer) => timer.id !== id);
}

export function queueMicrotask(callback: unknown): void {
  if (typeof callback !== "function") throw new TypeError("queueMicrotask takes a function");
  enqueueJob(() => guarded("A microtask", () => callback()));
}

/** Sleeps in the host; tells whether it was cancelled. */
function sleep(ms: number): boolean {
  cancelled = backend.cancellation.wait(ms);
  return cancelled;
}

/**
 * Lets time pass until the next timer is due and runs it, or until the batch is cancelled, which `onCancel` is told once.
 * False means that nothing is left to wait for. In a cancelled batch the host's wait does not wait: timers are due at once.
 */
export function step(onCancel: () => void, isAwaitingCancel: () => boolean): boolean {
  const next = timers.reduce<Timer | undefined>((least, timer) => (least && least.due <= timer.due ? least : timer), undefined);
  if (next === undefined) {
    if (cancelled || !isAwaitingCancel()) return false;
    if (sleep(FOREVER)) onCancel();
    return true;
  }
  const left = wholeMs(next.due - performance.now());
  if (left > 0 && !cancelled && sleep(left)) {
    onCancel();
    return true;
  }
  if (next.every === undefined) clearTimer(next.id);
  else next.due = Math.max(next.due, performance.now()) + next.every;
  next.run();
  return true;
}

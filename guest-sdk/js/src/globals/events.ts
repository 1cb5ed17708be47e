// EventTarget and AbortSignal as the web has them, as far as a component can use them.

import { log } from "../host.js";
import { messageOf } from "../errors.js";
import { setTimeout } from "./timers.js";

type Listener = ((event: Event) => void) | { handleEvent(event: Event): void };
interface Registered {
  type: string;
  listener: Listener;
  once: boolean;
}

export class Event {
  readonly type: string;
  readonly cancelable: boolean;
  readonly timeStamp = performance.now();
  target: EventTarget | null = null;
  currentTarget: EventTarget | null = null;
  defaultPrevented = false;
  stopped = false;

  constructor(type: string, init?: { cancelable?: boolean }) {
    this.type = String(type);
    this.cancelable = init?.cancelable ?? false;
  }

  preventDefault(): void {
    if (this.cancelable) this.defaultPrevented = true;
  }

  stopPropagation(): void {}

  stopImmediatePropagation(): void {
    this.stopped = true;
  }
}

export class EventTarget {
  #listeners: Registered[] = [];

  addEventListener(type: string, listener: Listener | null, options?: boolean | { once?: boolean; signal?: AbortSignal }): void {
    if (listener === null) return;
    const { once = false, signal } = typeof options === "object" ? options : {};
    if (signal?.aborted || this.#listeners.some((known) => known.type === type && known.listener === listener)) return;
    this.#listeners.push({ type, listener, once });
    signal?.addEventListener("abort", () => this.removeEventListener(type, listener));
  }

  removeEventListener(type: string, listener: Listener | null): void {
    this.#listeners = this.#listeners.filter((known) => known.type !== type || known.listener !== listener);
  }

  dispatchEvent(event: Event): boolean {
    event.target = event.currentTarget = this;
    for (const known of [...this.#listeners]) {
      if (known.type !== event.type || !this.#listeners.includes(known)) continue;
      if (known.once) this.removeEventListener(known.type, known.listener);
      try {
        if (typeof known.listener === "function") known.listener.call(this, event);
        else known.listener.handleEvent(event);
      } catch (error) {
        log.error(`A listener for ${event.type} threw: ${messageOf(error)}`);
      }
      if (event.stopped) break;
    }
    return !event.defaultPrevented;
  }

  hasListener(type: string): boolean {
    return this.#listeners.some((known) => known.type === type);
  }
}

let made = false;

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason: unknown;
  #dependents: AbortSignal[] = [];
  onabort: ((event: Event) => void) | null = null;
  /** Asked by whoever looks, for a signal whose abort is not announced: the host's. */
  poll: (() => boolean) | undefined;

  constructor() {
    super();
    if (!made) throw new TypeError("Illegal constructor");
  }

  static fresh(): AbortSignal {
    made = true;
    try {
      return new AbortSignal();
    } finally {
      made = false;
    }
  }

  get aborted(): boolean {
    if (!this.#aborted && this.poll?.()) this.trigger();
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** Whether somebody would be told of an abort. */
  get isWatched(): boolean {
    return this.onabort !== null || this.hasListener("abort") || this.#dependents.some((signal) => signal.isWatched);
  }

  trigger(reason: unknown = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const event = new Event("abort");
    this.onabort?.call(this, event);
    this.dispatchEvent(event);
    for (const signal of this.#dependents) signal.trigger(reason);
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = AbortSignal.fresh();
    signal.trigger(reason);
    return signal;
  }

  static timeout(ms: number): AbortSignal {
    const signal = AbortSignal.fresh();
    setTimeout(() => signal.trigger(new DOMException("The operation timed out", "TimeoutError")), ms);
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const combined = AbortSignal.fresh();
    for (const signal of signals) {
      if (signal.aborted) combined.trigger(signal.reason);
      else signal.#dependents.push(combined);
    }
    return combined;
  }
}

export class AbortController {
  readonly signal = AbortSignal.fresh();

  abort(reason?: unknown): void {
    this.signal.trigger(reason);
  }
}

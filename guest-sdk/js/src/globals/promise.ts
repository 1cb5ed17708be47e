// Promises whose jobs the SDK runs. A component's exports are synchronous and QuickJS runs its own jobs only after them;
// toolgate-sdk build compiles async functions to generators over the global Promise, which is this one.

import { log } from "../host.js";
import { messageOf } from "../errors.js";

type Job = () => void;
let jobs: Job[] = [];

export function enqueueJob(job: Job): void {
  jobs.push(job);
}

/** Runs jobs until there are none, those that they make included. */
export function runJobs(): void {
  while (jobs.length > 0) {
    const now = jobs;
    jobs = [];
    for (const job of now) job();
  }
}

const unhandled = new Map<Promised<unknown>, unknown>();

/** Tells of rejections that nobody looked at. */
export function reportUnhandled(): void {
  for (const reason of unhandled.values()) log.warn(`A promise was rejected and nobody caught it: ${messageOf(reason)}`);
  unhandled.clear();
}

type Settle = (value?: unknown) => void;
interface Capability {
  promise: PromiseLike<unknown>;
  resolve: Settle;
  reject: Settle;
}
type Constructor = new (executor: (resolve: Settle, reject: Settle) => void) => PromiseLike<unknown>;
type Handler = ((value: unknown) => unknown) | undefined;
interface Reaction {
  capability: Capability;
  fulfilled: Handler;
  rejected: Handler;
}

function capabilityOf(constructor: Constructor): Capability {
  const made: Partial<Capability> = {};
  made.promise = new constructor((resolve, reject) => {
    if (made.resolve !== undefined || made.reject !== undefined) throw new TypeError("Executor has already been invoked");
    made.resolve = resolve;
    made.reject = reject;
  });
  if (typeof made.resolve !== "function" || typeof made.reject !== "function") {
    throw new TypeError("Promise resolve and reject functions are not callable");
  }
  return made as Capability;
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

function react({ capability, fulfilled, rejected }: Reaction, state: "fulfilled" | "rejected", value: unknown): void {
  enqueueJob(() => {
    const handler = state === "fulfilled" ? fulfilled : rejected;
    if (handler === undefined) {
      if (state === "fulfilled") capability.resolve(value);
      else capability.reject(value);
      return;
    }
    let result: unknown;
    try {
      result = handler(value);
    } catch (error) {
      capability.reject(error);
      return;
    }
    capability.resolve(result);
  });
}

/** ECMAScript's Promise, step by step as the standard has it. */
export class Promised<T> implements PromiseLike<T> {
  #state: "pending" | "fulfilled" | "rejected" = "pending";
  #value: unknown;
  #reactions: Reaction[] = [];
  #handled = false;

  static get [Symbol.species]() {
    return this;
  }

  declare readonly [Symbol.toStringTag]: string;

  constructor(executor: (resolve: (value: T | PromiseLike<T>) => void, reject: (reason?: unknown) => void) => void) {
    if (typeof executor !== "function") throw new TypeError("Promise resolver is not a function");
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve as never, reject);
    } catch (error) {
      reject(error);
    }
  }

  #resolvers(): { resolve: Settle; reject: Settle } {
    let done = false;
    const reject: Settle = (reason) => {
      if (done) return;
      done = true;
      this.#settle("rejected", reason);
    };
    const resolve: Settle = (value) => {
      if (done) return;
      done = true;
      if (value === this) {
        this.#settle("rejected", new TypeError("Chaining cycle detected for promise"));
        return;
      }
      let then: unknown;
      try {
        then = isObject(value) ? (value as { then?: unknown }).then : undefined;
      } catch (error) {
        this.#settle("rejected", error);
        return;
      }
      if (typeof then !== "function") {
        this.#settle("fulfilled", value);
        return;
      }
      enqueueJob(() => {
        const inner = this.#resolvers();
        try {
          (then as (...args: unknown[]) => void).call(value, inner.resolve, inner.reject);
        } catch (error) {
          inner.reject(error);
        }
      });
    };
    return { resolve, reject };
  }

  #settle(state: "fulfilled" | "rejected", value: unknown): void {
    const reactions = this.#reactions;
    this.#state = state;
    this.#value = value;
    this.#reactions = [];
    if (state === "rejected" && !this.#handled) unhandled.set(this, value);
    for (const reaction of reactions) react(reaction, state, value);
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const own = this.constructor as (Constructor & { [Symbol.species]?: Constructor | null }) | undefined;
    const capability = capabilityOf(own?.[Symbol.species] ?? (Promised as unknown as Constructor));
    const reaction: Reaction = {
      capability,
      fulfilled: typeof onFulfilled === "function" ? (onFulfilled as Handler) : undefined,
      rejected: typeof onRejected === "function" ? (onRejected as Handler) : undefined,
    };
    if (this.#state === "pending") this.#reactions.push(reaction);
    else react(reaction, this.#state, this.#value);
    if (!this.#handled) {
      this.#handled = true;
      unhandled.delete(this);
    }
    return capability.promise as unknown as Promise<A | B>;
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => unknown) | null): Promise<T> {
    if (typeof onFinally !== "function") return this.then(onFinally as never, onFinally as never) as Promise<T>;
    const constructor = this.constructor as typeof Promised;
    return this.then(
      (value) => constructor.resolve(onFinally()).then(() => value),
      (reason) =>
        constructor.resolve(onFinally()).then(() => {
          throw reason;
        }),
    ) as Promise<T>;
  }

  static resolve(value?: unknown): Promise<any> {
    if (value instanceof Promised && value.constructor === this) return value as never;
    const capability = capabilityOf(this as unknown as Constructor);
    capability.resolve(value);
    return capability.promise as never;
  }

  static reject(reason?: unknown): Promise<never> {
    const capability = capabilityOf(this as unknown as Constructor);
    capability.reject(reason);
    return capability.promise as never;
  }

  static withResolvers(): unknown {
    const { promise, resolve, reject } = capabilityOf(this as unknown as Constructor);
    return { promise, resolve, reject };
  }

  static try(callback: (...args: unknown[]) => unknown, ...args: unknown[]): unknown {
    return new this((resolve) => resolve(callback(...args)));
  }

  static all(values: Iterable<unknown>): unknown {
    return this.#each(values, (resolve) => (at) => [(value: unknown) => resolve(at, value), undefined]);
  }

  static allSettled(values: Iterable<unknown>): unknown {
    return this.#each(values, (resolve) => (at) => [
      (value: unknown) => resolve(at, { status: "fulfilled", value }),
      (reason: unknown) => resolve(at, { status: "rejected", reason }),
    ]);
  }

  static any(values: Iterable<unknown>): unknown {
    const errors: unknown[] = [];
    let left = 1;
    return new this((resolve, reject) => {
      const failed = () => {
        left -= 1;
        if (left === 0) reject(new AggregateError(errors, "All promises were rejected"));
      };
      let at = 0;
      for (const value of values) {
        const own = at;
        at += 1;
        left += 1;
        errors.push(undefined);
        this.resolve(value).then(resolve, (error: unknown) => {
          errors[own] = error;
          failed();
        });
      }
      failed();
    });
  }

  static race(values: Iterable<unknown>): unknown {
    return new this((resolve, reject) => {
      for (const value of values) this.resolve(value).then(resolve, reject);
    });
  }

  /** Waits for all values; `handlers` says how one of them is taken down. */
  static #each(
    values: Iterable<unknown>,
    handlers: (
      resolve: (at: number, value: unknown) => void,
    ) => (at: number) => [(value: unknown) => void, ((reason: unknown) => void) | undefined],
  ): unknown {
    return new this((resolve, reject) => {
      const results: unknown[] = [];
      let left = 1;
      const one = () => {
        left -= 1;
        if (left === 0) resolve(results);
      };
      const taking = handlers((at, value) => {
        results[at] = value;
        one();
      });
      let at = 0;
      for (const value of values) {
        results.push(undefined);
        left += 1;
        const [fulfilled, rejected] = taking(at);
        at += 1;
        this.resolve(value).then(fulfilled, rejected ?? reject);
      }
      one();
    });
  }
}

Object.defineProperty(Promised, "name", { value: "Promise" });
Object.defineProperty(Promised.prototype, Symbol.toStringTag, { value: "Promise", configurable: true });

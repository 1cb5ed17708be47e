// What differs between the JavaScript engines a plugin may run in. The engine's own module (engines/) sets it.

export interface Engine {
  /**
   * Runs an entry of the component to its end; promises and timers are driven meanwhile, where the engine can't itself.
   * Where nothing is left that could settle the entry's promise, it throws what `stuck` makes of that.
   */
  run<T>(entry: () => T | PromiseLike<T>, stuck: (error: Error) => unknown): T | PromiseLike<T>;
  /** Sleeps until the time has passed or the batch is cancelled; tells which. */
  wait(ms: number): Promise<boolean>;
  /** The signal of the running call. */
  signal(): AbortSignal;
}

export let engine: Engine = {
  run: (entry) => entry(),
  wait: () => Promise.reject(new Error("There is no call to wait in.")),
  signal: () => new AbortController().signal,
};

export function setEngine(to: Engine): void {
  engine = to;
}

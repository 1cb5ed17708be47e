// What the host gives every call, in a tool and in a hook alike.

import { type LogLevel, type Scope, backend, isHosted } from "./backend.js";
import { describe } from "./content.js";
import { engine } from "./engine.js";
import { parseExact, stringify } from "./json.js";

export type { Scope } from "./backend.js";

/** The plugin's own store of one scope, bounded by the host in keys and bytes. Values are JSON unless bytes are meant. */
export interface State {
  /** A value kept earlier; `undefined` where there is none. */
  get<T = unknown>(key: string): T | undefined;
  /** Keeps a value. Throws where the host's limits of keys or bytes are reached. */
  set(key: string, value: unknown): void;
  /**
   * Adds atomically to a number (absent = 0) and returns the sum: the way to count across calls that run at the same
   * time. Throws where the value is no number or a limit is reached.
   */
  add(key: string, delta: number): number;
  /** Forgets a value. */
  remove(key: string): void;
  getBytes(key: string): Uint8Array | undefined;
  setBytes(key: string, value: Uint8Array): void;
}

/** The calls of one assistant message. Each property asks the host. */
export interface Batch {
  /** Of this call in the model's order, from 0. */
  readonly position: number;
  /** Calls in the batch. */
  readonly size: number;
  /** The turn's name; state of scope `turn` lives as long as it. */
  readonly turn: string;
  /** The conversation's name; state of scope `conversation` lives as long as it. */
  readonly conversation: string;
  /** The assistant message that holds the calls; `null` where the host was given none. */
  readonly assistantMessage: unknown;
}

/**
 * The host's side of a call. Every context has it; `host` by itself serves where there is no context, for instance in a
 * function that makes tools from the settings (at load only `config` and `log` are there).
 */
export interface Host {
  /** All of the operator's settings for this plugin (`[plugins.NAME.config]`). They are not checked. */
  config<T = Record<string, unknown>>(): T;
  /** One of the operator's settings; `undefined` where there is none. */
  configKey<T = unknown>(key: string): T | undefined;
  /** Whether the batch is cancelled. A tool that sees it should stop: `throw ToolError.cancelled()`. */
  readonly isCancelled: boolean;
  /** The same as a signal. Its event comes while the tool awaits something, and its reason counts as cancelled when thrown. */
  readonly signal: AbortSignal;
  /**
   * Sleeps, but not beyond cancellation; tells whether cancelled. The call's deadline goes on meanwhile. Other promises
   * and timers of the call go on too.
   */
  wait(ms: number): Promise<boolean>;
  /** What outlives the instance, for this model's turn or for the conversation. */
  state(scope: Scope): State;
  /** The batch that the call belongs to. */
  readonly batch: Batch;
}

const encoder = () => new TextEncoder();
const decoder = () => new TextDecoder();

function state(scope: Scope): State {
  const getBytes = (key: string) => backend.state.get(scope, key.toWellFormed()) ?? undefined;
  const setBytes = (key: string, value: Uint8Array) => backend.state.set(scope, key.toWellFormed(), value);
  return {
    getBytes,
    setBytes,
    get<T>(key: string): T | undefined {
      const bytes = getBytes(key);
      return bytes === undefined ? undefined : (JSON.parse(decoder().decode(bytes)) as T);
    },
    set(key, value) {
      const text = stringify(value);
      if (text === undefined) throw new TypeError(`The value for \`${key}\` can't be kept: JSON has no form for ${describe(value)}`);
      setBytes(key, encoder().encode(text));
    },
    add: (key, delta) => backend.state.add(scope, key.toWellFormed(), delta),
    remove: (key) => backend.state.remove(scope, key.toWellFormed()),
  };
}

const batch: Batch = {
  get position() {
    return backend.batch.position();
  },
  get size() {
    return backend.batch.size();
  },
  get turn() {
    return backend.batch.turn();
  },
  get conversation() {
    return backend.batch.conversation();
  },
  get assistantMessage() {
    return parseExact(backend.batch.assistantMessage());
  },
};

export const host: Host = {
  config: <T>() => JSON.parse(backend.config.all()) as T,
  configKey<T>(key: string): T | undefined {
    const text = backend.config.get(key.toWellFormed());
    return text == null ? undefined : (JSON.parse(text) as T);
  },
  get isCancelled() {
    return backend.cancellation.isCancelled();
  },
  get signal() {
    return engine.signal();
  },
  wait: (ms) => engine.wait(ms),
  state,
  batch,
};

/** Milliseconds as the contract takes them: whole, and within what every engine hands over as a 32-bit number. */
export function wholeMs(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms) || 0, 0), 0x7fffffff);
}

function write(level: LogLevel, parts: readonly unknown[]): void {
  // What a library says while the component is built is nobody's line.
  if (isHosted) backend.log.write(level, parts.map(readable).join(" ").toWellFormed());
}

function readable(part: unknown): string {
  if (typeof part === "string") return part;
  if (part instanceof Error) return part.stack ? `${part.name}: ${part.message}\n${part.stack}` : String(part);
  if (part === null || typeof part !== "object") return String(part);
  try {
    return stringify(part) ?? String(part);
  } catch {
    return Object.prototype.toString.call(part);
  }
}

/** Lines for the operator; neither model nor user sees them. `console` goes here too. */
export const log = {
  /** Steps of interest only while looking for a fault. */
  trace: (...parts: unknown[]) => write("trace", parts),
  /** Details for the plugin's author. */
  debug: (...parts: unknown[]) => write("debug", parts),
  /** What the operator may want to know. */
  info: (...parts: unknown[]) => write("info", parts),
  /** What the operator should look at. */
  warn: (...parts: unknown[]) => write("warn", parts),
  /** What went wrong. */
  error: (...parts: unknown[]) => write("error", parts),
};

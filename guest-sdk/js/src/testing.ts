// The host's side of the contract, played: a plugin's unit tests run in Node, Bun or Deno without a component.
// Arguments are not validated against the schema here: that is the real host's part.

import { type Backend, type LogLevel, type Scope, type WireResult, setBackend } from "./backend.js";
import "./engines/native.js";
import { ToolError } from "./errors.js";
import { type Made, hookExports, toolExports } from "./exports.js";
import { Decision, type Hooks, type Override } from "./hooks.js";
import { parseExact, stringify } from "./json.js";
import { type Answer, type GivenResult, resultFromWire, resultToWire } from "./result.js";
import { type Descriptor, setSystem } from "./system.js";
import type { Tool } from "./tool.js";


const played = {
  config: {} as Record<string, unknown>,
  cancelled: false,
  updates: [] as GivenResult[],
  logs: [] as { level: LogLevel; message: string }[],
  state: { turn: new Map<string, Uint8Array>(), conversation: new Map<string, Uint8Array>() },
  batch: { position: 0, size: 1, turn: "turn", conversation: "conversation", assistantMessage: null as unknown },
};

const backend: Backend = {
  progress: { update: (partial) => void played.updates.push(resultFromWire(partial)) },
  cancellation: { isCancelled: () => played.cancelled, wait: () => played.cancelled },
  log: { write: (level, message) => void played.logs.push({ level, message }) },
  state: {
    get: (scope, key) => played.state[scope].get(key),
    set: (scope, key, value) => void played.state[scope].set(key, value.slice()),
    remove: (scope, key) => void played.state[scope].delete(key),
    add(scope, key, delta) {
      const kept = played.state[scope].get(key);
      const before = kept === undefined ? 0 : Number(new TextDecoder().decode(kept));
      if (Number.isNaN(before)) throw new Error(`state.add: the value of "${key}" is not a number`);
      played.state[scope].set(key, new TextEncoder().encode(String(before + delta)));
      return before + delta;
    },
  },
  config: { get: (key) => stringify(played.config[key]), all: () => stringify(played.config) ?? "{}" },
  batch: {
    position: () => played.batch.position,
    size: () => played.batch.size,
    turn: () => played.batch.turn,
    conversation: () => played.batch.conversation,
    assistantMessage: () => stringify(played.batch.assistantMessage) ?? "null",
  },
};
setBackend(backend);

let directory = new Map<string, Uint8Array | "directory">();
let environment: Record<string, string> = {};

function refuse(code: string): never {
  throw Object.assign(new Error(code), { payload: code });
}

/** A directory in memory, and everything below it. */
function descriptor(base: string): Descriptor {
  const full = (path: string) => (path === "." ? base : base === "" ? path : `${base}/${path}`);
  const entry = (path: string) => (full(path) === "" ? "directory" : directory.get(full(path))) ?? refuse("no-entry");
  const inside = (path: string) =>
    [...directory].flatMap(([name, held]) => {
      const rest = path === "" ? name : name.startsWith(`${path}/`) ? name.slice(path.length + 1) : "";
      return rest === "" || rest.includes("/") ? [] : [{ name: rest, type: held === "directory" ? "directory" : "regular-file" }];
    });
  const bytesOf = () => {
    const held = entry(".");
    return held === "directory" ? refuse("is-directory") : held;
  };
  return {
    read(length, offset) {
      const part = bytesOf().slice(Number(offset), Number(offset) + Number(length));
      return [part, Number(offset) + part.length >= bytesOf().length];
    },
    write(buffer, offset) {
      const grown = new Uint8Array(Math.max(bytesOf().length, Number(offset) + buffer.length));
      grown.set(bytesOf());
      grown.set(buffer, Number(offset));
      directory.set(base, grown);
      return buffer.length;
    },
    readDirectory() {
      const entries = inside(base).values();
      return { readDirectoryEntry: () => entries.next().value };
    },
    createDirectoryAt: (path) => void (directory.has(full(path)) ? refuse("exist") : directory.set(full(path), "directory")),
    statAt(_flags, path) {
      const held = entry(path);
      return held === "directory" ? { type: "directory", size: 0 } : { type: "regular-file", size: held.length };
    },
    openAt(_pathFlags, path, open: { create?: boolean; truncate?: boolean; directory?: boolean }) {
      if (!directory.has(full(path)) && open.create) directory.set(full(path), new Uint8Array());
      const held = entry(path);
      if (open.directory && held !== "directory") refuse("not-directory");
      if (open.truncate && held !== "directory") directory.set(full(path), new Uint8Array());
      return descriptor(full(path));
    },
    removeDirectoryAt: (path) => void (inside(full(path)).length > 0 ? refuse("not-empty") : directory.delete(full(path))),
    unlinkFileAt: (path) => void directory.delete(full(path)),
  };
}

let granted: string | undefined;
setSystem({
  getDirectories: () => (granted === undefined ? [] : [[descriptor(""), granted]]),
  getEnvironment: () => Object.entries(environment),
  size: (value) => value,
});

/** Grants a directory, in memory, with these files (path in it → content). */
export function setFiles(path: string, files: Record<string, string | Uint8Array>): void {
  granted = path;
  directory = new Map();
  for (const [name, content] of Object.entries(files)) {
    const parts = name.split("/");
    for (let at = 1; at < parts.length; at += 1) directory.set(parts.slice(0, at).join("/"), "directory");
    directory.set(name, typeof content === "string" ? new TextEncoder().encode(content) : content);
  }
}

/** Grants environment values. */
export function setEnv(values: Record<string, string>): void {
  environment = values;
}

/** Forgets settings, state, files, environment, updates and log lines. */
export function reset(): void {
  played.config = {};
  played.cancelled = false;
  played.updates = [];
  played.logs = [];
  played.state = { turn: new Map(), conversation: new Map() };
  granted = undefined;
  environment = {};
}

export function setConfig(config: Record<string, unknown>): void {
  played.config = config;
}

/** Waits end at once: as cancelled after `setCancelled(true)`, else as if the time had passed. */
export function setCancelled(cancelled: boolean): void {
  played.cancelled = cancelled;
}

export function setBatch(batch: Partial<typeof played.batch>): void {
  Object.assign(played.batch, batch);
}

/** Bytes that are kept. */
export function stateOf(scope: Scope): ReadonlyMap<string, Uint8Array> {
  return played.state[scope];
}

/** What was sent so far. */
export const updates = (): readonly GivenResult[] => played.updates;
/** What was written so far. */
export const logs = (): readonly { level: LogLevel; message: string }[] => played.logs;

/** The error that a component's border would take over, as the error that it stands for. */
async function outcome<T>(run: T | PromiseLike<T>): Promise<T> {
  try {
    return await run;
  } catch (thrown) {
    const payload = (thrown as { payload?: unknown }).payload;
    if (typeof payload === "string") throw new ToolError(payload, { cause: thrown });
    const failure = payload as { tag?: string; val?: string } | undefined;
    if (failure?.tag === "cancelled") throw ToolError.cancelled();
    if (failure?.tag === "failed") throw new ToolError(failure.val ?? "", { cause: thrown });
    throw thrown;
  }
}

const text = (value: unknown) => stringify(value) ?? "null";
const callOf = (name: string, args: unknown) => ({ id: "call", name, arguments: text(args) });

/** Calls a tool as the host would. Rejects with a `ToolError` where the call fails. */
export async function call(tool: Tool, args: unknown = {}): Promise<GivenResult> {
  const { prepareArguments, execute } = toolExports([tool]);
  const prepared = tool.settings.prepareArguments
    ? parseExact(await outcome(prepareArguments(tool.name, text(args))))
    : args;
  return resultFromWire(await outcome(execute(callOf(tool.name, prepared))));
}

/** Asks hooks before a call, in order. */
export async function before(hooks: Made<Hooks>, tool: string, args: unknown): Promise<Decision> {
  const decision = await outcome(hookExports(hooks).beforeToolCall({ call: callOf(tool, args), arguments: text(args) }));
  switch (decision.tag) {
    case "allow":
      return Decision.allow();
    case "replace-arguments":
      return Decision.replace(parseExact(decision.val));
    case "block":
      return Decision.block(decision.val.reason ?? undefined, { terminate: decision.val.terminate });
    case "ask":
      return Decision.ask(decision.val.title, decision.val.text);
  }
}

interface Seen {
  arguments?: unknown;
  result: Answer;
  /** By default what the result says itself. */
  isError?: boolean;
  error?: { kind: string; stage: string };
}

function wireOf(tool: string, seen: Seen) {
  const toolResult: WireResult = resultToWire(seen.result);
  const args = seen.arguments ?? {};
  return {
    call: callOf(tool, args),
    arguments: text(args),
    toolResult,
    isError: seen.isError ?? toolResult.isError,
    error: seen.error,
  };
}

/** Shows hooks a result; what they change together, `undefined` for nothing. */
export async function after(hooks: Made<Hooks>, tool: string, seen: Seen): Promise<Override | undefined> {
  const override = await outcome(hookExports(hooks).afterToolCall(wireOf(tool, seen)));
  if (override === undefined) return undefined;
  const { content, details, structuredContent, usage, isError, terminate } = override;
  const fields: Override = {};
  if (content != null) fields.content = resultFromWire({ content, isError: false }).content;
  if (details != null) fields.details = parseExact(details);
  if (structuredContent != null) fields.structuredContent = parseExact(structuredContent);
  if (usage != null) fields.usage = parseExact(usage) as object;
  if (isError != null) fields.isError = isError;
  if (terminate != null) fields.terminate = terminate;
  return fields;
}

/** Tells hooks that a call is over. */
export async function settled(hooks: Made<Hooks>, tool: string, seen: Seen & { durationMs?: number }): Promise<void> {
  await hookExports(hooks).settled({ ...wireOf(tool, seen), durationMs: seen.durationMs ?? 0 });
}

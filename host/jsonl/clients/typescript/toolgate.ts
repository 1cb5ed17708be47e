/**
 * A client of `toolgate serve jsonl` for Node.js, without dependencies; copy it into your project.
 *
 *     const toolgate = await Toolgate.start(["toolgate", "serve", "jsonl"], { approve: askTheUser });
 *     const { messages } = await toolgate.run(assistantMessage, { onEvent: console.log });
 *     await toolgate.close();
 *
 * Methods and parameters are those of docs/jsonl.md, which says what they mean.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const PROTOCOL = 1;

export type Id = string | number;
export type Json = Record<string, any>;
/** Answers a request of the server's: its result, or an exception. The signal says that the answer is not needed. */
export type Handler = (params: Json, signal: AbortSignal) => Promise<unknown>;
/** A partial result of a tool of the client's. */
export type Update = (partialResult: Json) => void;

export interface Options {
  approve?: Handler;
  beforeToolCall?: Handler;
  afterToolCall?: Handler;
  execute?: (params: Json, signal: AbortSignal, update: Update) => Promise<unknown>;
  onLog?: (line: Json) => void;
  onToolsChanged?: () => void;
  steps?: boolean;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

export interface RunOptions {
  /** The batch's name in events and in the server's requests; by default a number of the client's. */
  id?: Id;
  /** Gets the params of `event` and `step`. */
  onEvent?: (params: Json) => void;
  /** Cancels the batch; its results still come. */
  signal?: AbortSignal;
  mode?: "parallel" | "sequential";
  turn?: string;
  conversation?: string;
  active?: { only?: string[]; added?: string[] };
  earlier?: (Json | null)[];
  traceparent?: string;
}

export interface Ran {
  messages: Json[];
  terminate: boolean;
  eventsLost?: boolean;
}

/** A request was refused, or the process is gone. */
export class ToolgateError extends Error {
  constructor(message: string, readonly code?: number, readonly data?: unknown) {
    super(message);
  }
}

export class Toolgate {
  #next = 1;
  #waiting = new Map<Id, { resolve: (result: any) => void; reject: (error: Error) => void }>();
  #watching = new Map<Id, (params: Json) => void>();
  #answering = new Map<Id, AbortController>();
  #ended: Promise<void>;
  /** What the server said of itself. */
  server: Json = {};

  private constructor(private process: ChildProcess, private options: Options) {
    const lines = createInterface({ input: process.stdout!, crlfDelay: Infinity });
    lines.on("line", (line) => this.#take(JSON.parse(line)));
    // A broken pipe shows itself by the end of the process.
    process.stdin!.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      const over = (why: string) => {
        for (const { reject } of this.#waiting.values()) reject(new ToolgateError(why));
        for (const answering of this.#answering.values()) answering.abort();
        resolve();
      };
      process.on("error", (error) => over(`toolgate could not be started: ${error.message}`));
      process.on("close", (code, signal) => over(`toolgate has ended (${signal ?? code})`));
    });
  }

  static async start(command: string[], options: Options = {}): Promise<Toolgate> {
    const [file, ...args] = command;
    const { cwd, env } = options;
    const child = spawn(file!, args, { stdio: ["pipe", "pipe", "inherit"], cwd, env });
    const toolgate = new Toolgate(child, options);
    const { approve, onLog, onToolsChanged, steps } = options;
    const capabilities = { approve: !!approve, logs: !!onLog, toolsChanged: !!onToolsChanged, steps: !!steps };
    toolgate.server = await toolgate.request("hello", { protocol: PROTOCOL, capabilities });
    return toolgate;
  }

  request(method: string, params: Json = {}, id: Id = this.#next++): Promise<any> {
    return new Promise((resolve, reject) => {
      if (this.process.exitCode !== null) return reject(new ToolgateError("toolgate has ended"));
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  /** Runs the calls of an assistant message. */
  async run(message: unknown, { id = this.#next++, onEvent, signal, ...options }: RunOptions = {}): Promise<Ran> {
    const cancel = () => this.#send({ method: "cancel", params: { batch: id } });
    if (onEvent) this.#watching.set(id, onEvent);
    const running = this.request("run", { message, ...options }, id);
    signal?.addEventListener("abort", cancel);
    if (signal?.aborted) cancel();
    try {
      return await running;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#watching.delete(id);
    }
  }

  async tools(): Promise<Json[]> {
    return (await this.request("tools")).tools;
  }

  /** Ends the input; resolves when the process has ended, which it does when its batches are over. */
  close(): Promise<void> {
    this.process.stdin!.end();
    return this.#ended;
  }

  /** Ends the process at once. */
  kill() {
    this.process.kill("SIGKILL");
  }

  #send(message: Json) {
    if (this.process.stdin!.writable) this.process.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #take({ id, method, params, result, error }: Json) {
    if (method === undefined) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new ToolgateError(error.message, error.code, error.data));
      else waiting?.resolve(result);
    } else if (id !== undefined) void this.#answer(id, method, params);
    else if (method === "cancelled") this.#answering.get(params.request)?.abort();
    else if (method === "event" || method === "step") this.#watching.get(params.batch)?.(params);
    else if (method === "log") this.options.onLog?.(params);
    else if (method === "tools_changed") this.options.onToolsChanged?.();
  }

  async #answer(id: Id, method: string, params: Json) {
    const { approve, beforeToolCall, afterToolCall, execute } = this.options;
    const handlers: Record<string, Options["execute"]> =
      { approve, before_tool_call: beforeToolCall, after_tool_call: afterToolCall, execute };
    const answering = new AbortController();
    const update: Update = (partialResult) =>
      this.#send({ method: "update", params: { request: id, partialResult } });
    this.#answering.set(id, answering);
    try {
      const handler = handlers[method];
      if (!handler) throw new Error(`this client does not answer ${method}`);
      this.#send({ id, result: await handler(params, answering.signal, update) });
    } catch (error) {
      this.#send({ id, error: { code: -32000, message: error instanceof Error ? error.message : String(error) } });
    } finally {
      this.#answering.delete(id);
    }
  }
}

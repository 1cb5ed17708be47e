// Tools: what defineTool takes, and what a call sees.

import { backend, type WireCall } from "./backend.js";
import { type Host, host } from "./host.js";
import { parseExact } from "./json.js";
import { type Answer, type PlainAnswer, type ToolResult, resultToWire } from "./result.js";
import { type Exact, type Infer, type Schema, isStandard, refine } from "./schema.js";

/** A resource that a call holds while it runs: calls with an equal one of which one writes run one after another. */
export type ExclusiveKey =
  /** JSON pointer to an argument that is a path; resolved through the plugin's grants, compared across plugins. */
  | { readonly path: string; readonly access: "read" | "write"; readonly value?: undefined }
  /** JSON pointer to an argument; its plain value is compared within this plugin. */
  | { readonly value: string; readonly access: "read" | "write"; readonly path?: undefined };

/** MCP's annotations, shown to clients. */
export interface Hints {
  readOnly?: boolean | undefined;
  destructive?: boolean | undefined;
  idempotent?: boolean | undefined;
  openWorld?: boolean | undefined;
}

/** One call of a tool; also everything of `Host`. */
export interface ToolContext extends Host {
  /** The call: the model's id, the tool's name, and the arguments as JSON text, digits kept. */
  readonly call: Readonly<WireCall>;
  /** Sends a partial result. Returns at once unless many are pending. */
  update(partial: Answer): void;
}

type Promised<T> = T | PromiseLike<T>;

/** An answer whose data fits the tool's output schema. */
type AnswerOf<O> = [O] extends [undefined]
  ? Answer
  : PlainAnswer | (Omit<ToolResult, "structuredContent"> & { structuredContent?: Exact<Infer<O>> });

export interface ToolSettings<P, O, N> {
  /** `[A-Za-z0-9_-]{1,64}`. */
  name: string;
  /** A short name for people. */
  label?: string | undefined;
  /** For the model: what the tool does, when to use it, what it does not do. */
  description: string;
  /** Of the arguments; without it there are none. The host validates before the tool is called. */
  parameters?: P;
  /** Of the structured content. */
  output?: O;
  /** `sequential`: a batch with a call of this tool runs its calls one after another. */
  executionMode?: "parallel" | "sequential" | undefined;
  exclusive?: readonly ExclusiveKey[] | undefined;
  hints?: Hints | undefined;
  /** MCP `_meta`. */
  meta?: object | undefined;
  /**
   * `exact`: an argument that no JavaScript number holds arrives as a `RawNumber` with all its digits. Otherwise every
   * number is a JavaScript number.
   */
  numbers?: N;
  /** Accepts older shapes of the arguments: takes what the model wrote, returns what goes on to validation. */
  prepareArguments?(args: unknown): unknown;
  /** Runs one call. What it throws becomes the call's error, with its message. */
  execute(args: Arguments<P, N>, cx: ToolContext): Promised<AnswerOf<O>>;
}

/** What `execute` gets for these parameters. */
export type Arguments<P, N = undefined> = [P] extends [undefined]
  ? Record<string, unknown>
  : N extends "exact"
    ? Exact<Infer<P>>
    : Infer<P>;

const TOOL = Symbol.for("toolgate.tool");

/** A tool, for the list that a plugin exports as `tools`. */
export interface Tool {
  readonly [TOOL]: true;
  readonly name: string;
  readonly settings: ToolSettings<Schema | undefined, Schema | undefined, "exact" | undefined>;
}

/**
 * Defines a tool.
 *
 * ```ts
 * export const tools = [
 *   defineTool({
 *     name: "greet",
 *     description: "Greets somebody.",
 *     parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
 *     execute: ({ name }) => `Hello ${name}!`,
 *   }),
 * ];
 * ```
 */
export function defineTool<
  const P extends Schema | undefined = undefined,
  const O extends Schema | undefined = undefined,
  const N extends "exact" | undefined = undefined,
>(settings: ToolSettings<P, O, N>): Tool {
  return { [TOOL]: true, name: settings.name, settings: settings as unknown as Tool["settings"] };
}

export function isTool(value: unknown): value is Tool {
  return (value as { [TOOL]?: boolean } | null | undefined)?.[TOOL] === true;
}

/** Adds to an object what every context has. Its getters ask the host, so they are carried over as they are. */
export function withHost<T extends object>(own: T): T & Host {
  return Object.create(host, Object.getOwnPropertyDescriptors(own)) as T & Host;
}

/** Runs a call whose arguments the host has validated. */
export async function execute(tool: Tool, call: WireCall): Promise<Answer> {
  const { parameters, numbers } = tool.settings;
  let args = numbers === "exact" ? parseExact(call.arguments) : JSON.parse(call.arguments);
  if (isStandard(parameters)) args = await refine(parameters, args);
  const cx = withHost({
    call,
    update: (partial: Answer) => backend.progress.update(resultToWire(partial)),
  });
  return (await tool.settings.execute(args as never, cx)) as Answer;
}

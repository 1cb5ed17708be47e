// Hooks: policy and observation around everyone's tools.

import type { Option, WireCall, WireContent, WireResult } from "./backend.js";
import type { Host } from "./host.js";
import { parseExact } from "./json.js";
import { type GivenResult, type ToolResult, contentToWire, option, resultFromWire } from "./result.js";
import { withHost } from "./tool.js";

/** What a before hook answers; nothing is `allow`. */
export type Decision =
  | { readonly kind: "allow" }
  | { readonly kind: "block"; readonly reason?: string | undefined; readonly terminate: boolean }
  | { readonly kind: "replace"; readonly arguments: unknown }
  | { readonly kind: "ask"; readonly title: string; readonly text: string };

export const Decision = {
  /** The call goes on. */
  allow: (): Decision => ({ kind: "allow" }),
  /** Ends the call here. The reason is for the model. `terminate` hints that the run may stop. */
  block: (reason?: string, options?: { terminate?: boolean }): Decision => ({
    kind: "block",
    reason,
    terminate: options?.terminate ?? false,
  }),
  /** The call goes on with these arguments, which are validated again. */
  replace: (args: unknown): Decision => ({ kind: "replace", arguments: args }),
  /**
   * Asks the host's approver, after the later hooks have run: a block among them wins. No approver, a no and no answer
   * decline. What was approved runs; the hook is not asked again.
   */
  ask: (title: string, text: string): Decision => ({ kind: "ask", title, text }),
};

/** Field by field; a field not given stays. New content without new structured content drops the old one. */
export type Override = Pick<
  ToolResult,
  "content" | "details" | "structuredContent" | "usage" | "isError" | "terminate"
>;

export interface BeforeContext extends Host {
  /** As the model wrote it. */
  readonly call: Readonly<WireCall>;
  /** The arguments that run, as JSON text. */
  readonly arguments: string;
  /** The arguments, numbers that JavaScript can't hold as `RawNumber`, so that what is passed on keeps its digits. */
  parseArguments<T extends object = Record<string, unknown>>(): T;
}

export interface AfterContext extends BeforeContext {
  /** The result as earlier hooks left it. */
  readonly result: GivenResult;
  /** Whether the call counts as failed: the tool said so, it failed, or an earlier hook set it. */
  readonly isError: boolean;
  /** Where the host has a kind for the failure. */
  readonly error: { readonly kind: string; readonly stage: string } | undefined;
}

export interface SettledContext extends AfterContext {
  /** From the start event to the end event. */
  readonly durationMs: number;
}

type Promised<T> = T | PromiseLike<T>;

/** What an event's handler may leave out to say "nothing". */
type Nothing = void | undefined;

export interface HookSettings {
  /** Only these tools, by exact name. Without it: every tool. */
  tools?: readonly string[] | undefined;
  /** After validation, before execution. What it throws refuses the call, and its message becomes the result. */
  beforeToolCall?(cx: BeforeContext): Promised<Decision | Nothing>;
  /**
   * After execution, before the end event. What it throws replaces the whole result, unless the operator configured
   * that such a hook is skipped.
   */
  afterToolCall?(cx: AfterContext): Promised<Override | Nothing>;
  /** After the end event of every call, refused ones too. */
  settled?(cx: SettledContext): Promised<void>;
}

const HOOKS = Symbol.for("toolgate.hooks");

/** A hook, for what a plugin exports as `hooks`. */
export interface Hooks {
  readonly [HOOKS]: true;
  readonly settings: HookSettings;
}

/**
 * Defines a hook. It is called for the events it has a function for.
 *
 * Several hooks of one plugin are asked in the listed order:
 * - before: replaced arguments go on to the next one; the first block ends it, also after an ask. Questions of several
 *   become one. An ask beside a replacement is an error, since the contract can't carry both: put such hooks into
 *   plugins of their own;
 * - after: each sees the result as the earlier ones left it;
 * - the first error ends it.
 */
export function defineHooks(settings: HookSettings): Hooks {
  return { [HOOKS]: true, settings };
}

export function isHooks(value: unknown): value is Hooks {
  return (value as { [HOOKS]?: boolean } | null | undefined)?.[HOOKS] === true;
}

// --- the events, as the contract has them ---

export interface WireBefore {
  call: WireCall;
  arguments: string;
}

export interface WireAfter extends WireBefore {
  toolResult: WireResult;
  isError: boolean;
  error?: Option<{ kind: string; stage: string }>;
}

export interface WireSettled extends WireAfter {
  durationMs: number;
}

export type WireDecision =
  | { tag: "allow" }
  | { tag: "replace-arguments"; val: string }
  | { tag: "block"; val: { reason?: Option<string>; terminate: boolean } }
  | { tag: "ask"; val: { title: string; text: string } };

export interface WireOverride {
  content?: Option<WireContent[]>;
  details?: Option<string>;
  structuredContent?: Option<string>;
  usage?: Option<string>;
  isError?: Option<boolean>;
  terminate?: Option<boolean>;
}

export interface WireSubscription {
  event: "before-tool-call" | "after-tool-call" | "settled";
  tools?: Option<string[]>;
}

export function subscriptions(hooks: readonly Hooks[]): WireSubscription[] {
  return hooks.flatMap(({ settings }) => {
    const tools = settings.tools === undefined ? undefined : [...settings.tools];
    const all: WireSubscription[] = [];
    if (settings.beforeToolCall) all.push({ event: "before-tool-call", tools });
    if (settings.afterToolCall) all.push({ event: "after-tool-call", tools });
    if (settings.settled) all.push({ event: "settled", tools });
    return all;
  });
}

function wanting(hooks: readonly Hooks[], tool: string): HookSettings[] {
  return hooks.map((hook) => hook.settings).filter(({ tools }) => tools === undefined || tools.includes(tool));
}

function beforeFields({ call, arguments: args }: WireBefore) {
  return { call, arguments: args, parseArguments: <T extends object>() => parseExact(args) as T };
}

export async function before(hooks: readonly Hooks[], wire: WireBefore): Promise<WireDecision> {
  let { arguments: args } = wire;
  let replaced = false;
  let asked: { title: string; text: string } | undefined;
  for (const hook of wanting(hooks, wire.call.name)) {
    const decision = await hook.beforeToolCall?.(withHost(beforeFields({ call: wire.call, arguments: args })));
    switch (decision?.kind) {
      case undefined:
        if (decision === undefined) break;
        throw new TypeError("beforeToolCall answers with a Decision or nothing");
      case "allow":
        break;
      case "replace": {
        args = option("Replaced arguments", decision.arguments) ?? "null";
        replaced = true;
        break;
      }
      case "ask": {
        const { title, text } = decision;
        // The contract carries one question per component; the person has to see both.
        asked = asked ? { title: `${asked.title}; ${title}`, text: `${asked.text}\n\n${text}` } : { title, text };
        break;
      }
      case "block": {
        const { reason, terminate } = decision;
        return { tag: "block", val: { reason: reason?.toWellFormed(), terminate } };
      }
    }
  }
  if (asked && replaced) {
    throw new Error(
      "One hook asked for approval and another hook of the same plugin replaced the arguments; put the two hooks into plugins of their own",
    );
  }
  if (asked) return { tag: "ask", val: { title: asked.title.toWellFormed(), text: asked.text.toWellFormed() } };
  return replaced ? { tag: "replace-arguments", val: args } : { tag: "allow" };
}

function afterFields(wire: WireAfter) {
  return {
    ...beforeFields(wire),
    result: resultFromWire(wire.toolResult),
    isError: wire.isError,
    error: wire.error ?? undefined,
  };
}

function overrideToWire(override: Override): WireOverride {
  if (typeof override !== "object") throw new TypeError("afterToolCall answers with an object of fields or nothing");
  return {
    content: override.content === undefined ? undefined : contentToWire(override.content),
    details: option("details", override.details),
    structuredContent: option("structuredContent", override.structuredContent),
    usage: option("usage", override.usage),
    isError: override.isError,
    terminate: override.terminate,
  };
}

/** The result as the next hook sees it. */
function applied(wire: WireAfter, over: WireOverride): WireAfter {
  const old = wire.toolResult;
  return {
    ...wire,
    isError: over.isError ?? wire.isError,
    toolResult: {
      ...old,
      content: over.content ?? old.content,
      details: over.details ?? old.details,
      structuredContent: over.structuredContent ?? (over.content ? undefined : old.structuredContent),
      usage: over.usage ?? old.usage,
      terminate: over.terminate ?? old.terminate,
    },
  };
}

/** The override that does one and then another. */
function then(first: WireOverride, later: WireOverride): WireOverride {
  return {
    content: later.content ?? first.content,
    details: later.details ?? first.details,
    // Content alone drops the structured content, also the one that an earlier hook gave.
    structuredContent: later.structuredContent ?? (later.content ? undefined : first.structuredContent),
    usage: later.usage ?? first.usage,
    isError: later.isError ?? first.isError,
    terminate: later.terminate ?? first.terminate,
  };
}

export async function after(hooks: readonly Hooks[], given: WireAfter): Promise<WireOverride | undefined> {
  let wire = given;
  let all: WireOverride | undefined;
  for (const hook of wanting(hooks, wire.call.name)) {
    const override = await hook.afterToolCall?.(withHost(afterFields(wire)));
    if (override === undefined) continue;
    const over = overrideToWire(override);
    wire = applied(wire, over);
    all = then(all ?? {}, over);
  }
  return all;
}

export async function settled(hooks: readonly Hooks[], wire: WireSettled): Promise<void> {
  for (const hook of wanting(hooks, wire.call.name)) {
    await hook.settled?.(withHost({ ...afterFields(wire), durationMs: wire.durationMs }));
  }
}

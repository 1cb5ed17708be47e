// The exports of a component, forwarded to the plugin's tools and hooks.

import type { WireCall, WireResult } from "./backend.js";
import { describe, string } from "./content.js";
import { engine } from "./engine.js";
import { ToolError, isAbort, messageOf } from "./errors.js";
import * as hook from "./hooks.js";
import { type Hooks, isHooks } from "./hooks.js";
import { host, log } from "./host.js";
import { parseExact, stringify } from "./json.js";
import { option, resultToWire } from "./result.js";
import { jsonSchemaOf } from "./schema.js";
import { type Tool, execute, isTool } from "./tool.js";

type Listed<T> = T | readonly T[];
/** A list, or a function that makes it: called at load and again in every call, so it must answer the same each time. */
export type Made<T> = Listed<T> | (() => Listed<T> | PromiseLike<Listed<T>>);

/** What a thrown value becomes at the component's border: the engines take the error case from `payload`. */
class Failure extends Error {
  readonly payload: unknown;

  constructor(payload: unknown) {
    super("failure");
    this.payload = payload;
  }
}

function check<T>(what: string, list: Listed<T>, is: (item: unknown) => item is T, maker: string): readonly T[] {
  const items = (Array.isArray(list) ? list : [list]) as readonly T[];
  items.forEach((item, at) => {
    if (!is(item)) throw new TypeError(`${what}[${at}] is ${describe(item)}, not made by ${maker}`);
  });
  return items;
}

async function made<T>(what: string, source: Made<T>, is: (item: unknown) => item is T, maker: string) {
  const list = typeof source === "function" ? await (source as () => Listed<T>)() : source;
  return check(what, list, is, maker);
}

function definition({ settings }: Tool) {
  const { hints = {} } = settings;
  return {
    name: string("A tool's name", settings.name),
    label: settings.label,
    description: string(`The description of ${settings.name}`, settings.description).trim(),
    parameters: stringify(
      settings.parameters === undefined
        ? { type: "object", properties: {} }
        : jsonSchemaOf(`The parameters of ${settings.name}`, settings.parameters, "input"),
    ),
    output:
      settings.output === undefined
        ? undefined
        : stringify(jsonSchemaOf(`The output of ${settings.name}`, settings.output, "output")),
    executionMode: settings.executionMode,
    exclusive: (settings.exclusive ?? []).map((key) => ({
      pointer: key.path ?? key.value,
      isPath: key.path !== undefined,
      access: key.access,
    })),
    preparesArguments: settings.prepareArguments !== undefined,
    hints: {
      readOnly: hints.readOnly,
      destructive: hints.destructive,
      idempotent: hints.idempotent,
      openWorld: hints.openWorld,
    },
    meta: option("meta", settings.meta),
  };
}

/** A failure whose text is for the model. */
const failed = (thrown: unknown) => new Failure(noted(thrown));

/** Runs what is called at load, which can fail only by a trap: the host takes its words from a line of this form. */
function atLoad<T>(entry: () => Promise<T>) {
  const panic = (thrown: unknown) => {
    log.error(`panicked at load: ${messageOf(thrown)}`);
    return thrown;
  };
  return engine.run(async () => {
    try {
      return await entry();
    } catch (thrown) {
      throw panic(thrown);
    }
  }, panic);
}

/** Notes for the author what a model is told in one line. */
function noted(thrown: unknown): string {
  if (thrown instanceof Error && !(thrown instanceof ToolError) && thrown.stack) {
    log.debug(`${thrown.name}: ${thrown.message}\n${thrown.stack}`);
  }
  return messageOf(thrown).toWellFormed();
}

export function toolExports(source: Made<Tool>) {
  // What can be wrong is said while the component is built.
  if (typeof source !== "function") check("tools", source, isTool, "defineTool");
  const all = () => made("tools", source, isTool, "defineTool");
  const find = async (name: string) => {
    const tool = (await all()).find((tool) => tool.name === name);
    if (!tool) throw new ToolError(`This plugin has no tool \`${name}\``);
    return tool;
  };
  return {
    definitions: () => atLoad(async () => (await all()).map(definition)),

    prepareArguments: (name: string, args: string) =>
      engine.run(async () => {
        try {
          const { settings } = await find(name);
          if (!settings.prepareArguments) return args;
          return option("Prepared arguments", await settings.prepareArguments(parseExact(args))) ?? "null";
        } catch (thrown) {
          throw failed(thrown);
        }
      }, failed),

    execute: (call: WireCall): WireResult | PromiseLike<WireResult> =>
      engine.run(async () => {
        try {
          return resultToWire(await execute(await find(call.name), call));
        } catch (thrown) {
          const stopped = thrown instanceof ToolError ? thrown.isCancelled : isAbort(thrown) && host.isCancelled;
          throw new Failure(stopped ? { tag: "cancelled" } : { tag: "failed", val: noted(thrown) });
        }
      }, (error) => new Failure({ tag: "failed", val: error.message })),
  };
}

export function hookExports(source: Made<Hooks>) {
  if (typeof source !== "function") check("hooks", source, isHooks, "defineHooks");
  const all = () => made("hooks", source, isHooks, "defineHooks");
  const run = <T>(entry: (hooks: readonly Hooks[]) => Promise<T>) =>
    engine.run(async () => {
      try {
        return await entry(await all());
      } catch (thrown) {
        throw failed(thrown);
      }
    }, failed);
  return {
    subscriptions: () => atLoad(async () => hook.subscriptions(await all())),
    beforeToolCall: (wire: hook.WireBefore) => run((hooks) => hook.before(hooks, wire)),
    afterToolCall: (wire: hook.WireAfter) => run((hooks) => hook.after(hooks, wire)),
    settled: (wire: hook.WireSettled) =>
      engine.run(async () => {
        try {
          await hook.settled(await all(), wire);
        } catch (thrown) {
          log.error(`A settled hook failed: ${noted(thrown)}`);
        }
      }, (error) => error),
  };
}

// The conformance plugin in TypeScript: what tests/conformance/README.md asks of every SDK, and nothing else.

import { Content, Decision, ToolError, defineHooks, defineTool, isRawNumber, joinedText, log, stringify } from "@toolgate/sdk";

/** A schema of an object whose properties are all required. */
function object<const P extends Record<string, unknown>>(properties: P) {
  return { type: "object", properties, required: Object.keys(properties) as (keyof P)[] } as const;
}

const text = { type: "string" } as const;
const whole = { type: "integer", minimum: 0 } as const;


/** Recursion without end is a trap in QuickJS: nothing catches it. */
function exhaust(depth: number): string {
  return exhaust(depth + 1) + depth;
}

export const tools = [
  defineTool({
    name: "echo",
    label: "Echo",
    description: "Answers with the text.",
    hints: { readOnly: true, idempotent: true },
    parameters: object({ text }),
    execute: ({ text }) => ({ content: text, details: { codePoints: [...text].length } }),
  }),

  defineTool({
    name: "fail",
    description: "Fails.",
    parameters: object({ how: { type: "string", enum: ["error", "throw", "reported", "trap"] }, message: text }),
    execute({ how, message }) {
      switch (how) {
        case "error":
          throw new ToolError(message);
        case "throw":
          throw new RangeError(message);
        case "reported":
          return { content: message, isError: true };
        case "trap":
          try {
            return exhaust(0);
          } catch {
            // StarlingMonkey throws before its stack is at its end.
            for (;;);
          }
      }
    },
  }),

  defineTool({
    name: "progress",
    description: "Reports its steps.",
    parameters: object({ steps: whole }),
    execute({ steps }, cx) {
      for (let step = 1; step <= steps; step += 1) cx.update(`step ${step} of ${steps}`);
      return "done";
    },
  }),

  defineTool({
    name: "sleep",
    description: "Waits.",
    parameters: object({ ms: whole }),
    async execute({ ms }, cx) {
      if (await cx.wait(ms)) throw ToolError.cancelled();
      return "slept";
    },
  }),

  defineTool({
    name: "count",
    description: "Adds to a number that is kept.",
    parameters: object({ key: text, by: { type: "number" }, scope: { type: "string", enum: ["turn", "conversation"] } }),
    execute: ({ key, by, scope }, cx) => String(cx.state(scope).add(key, by)),
  }),

  defineTool({
    name: "remember",
    description: "Keeps a text for the conversation.",
    exclusive: [{ value: "/key", access: "write" }],
    parameters: {
      type: "object",
      properties: { key: text, value: text, remove: { type: "boolean" } },
      required: ["key"],
    },
    execute({ key, value, remove }, cx) {
      const state = cx.state("conversation");
      if (remove) state.remove(key);
      else if (value !== undefined) state.set(key, value);
      else return state.get<string>(key) ?? "(nothing)";
      return "ok";
    },
  }),

  defineTool({
    name: "number",
    description: "Answers with the number.",
    numbers: "exact",
    parameters: object({ value: { type: "number" } }),
    output: object({ value: { type: "number" } }),
    execute: ({ value }) => ({
      content: isRawNumber(value) ? value.rawJSON : String(value),
      structuredContent: { value },
    }),
  }),

  defineTool({
    name: "size",
    description: "Counts bytes.",
    parameters: object({ data: text }),
    execute: ({ data }) => String(new TextEncoder().encode(data).length),
  }),

  defineTool({
    name: "make",
    description: "Makes a text.",
    parameters: object({ bytes: whole }),
    execute: ({ bytes }) => "x".repeat(bytes),
  }),

  defineTool({
    name: "media",
    description: "Answers with one block of each kind.",
    execute: () => [
      "all",
      Content.image(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), "image/png"),
      Content.audio(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7), "audio/wav"),
      Content.resourceLink("file:///a.txt", "a.txt", { title: "A", mimeType: "text/plain", size: 3 }),
      Content.resource("mem://t", "é"),
      Content.resourceBlob("mem://b", Uint8Array.of(0, 255)),
    ],
  }),

  defineTool({
    name: "settings",
    description: "Answers with the settings.",
    execute: (_args, cx) => stringify(cx.config()) ?? "",
  }),

  defineTool({
    name: "logs",
    description: "Writes a line for the operator.",
    parameters: object({
      level: { type: "string", enum: ["trace", "debug", "info", "warn", "error"] },
      message: text,
    }),
    execute({ level, message }) {
      log[level](message);
      return "logged";
    },
  }),

  defineTool({
    name: "where",
    description: "Tells where in its batch the call stands.",
    output: object({ position: whole, size: whole, turn: text, conversation: text }),
    execute(_args, { batch: { position, size, turn, conversation } }) {
      return { content: "ok", structuredContent: { position, size, turn, conversation } };
    },
  }),

  defineTool({
    name: "prepared",
    description: "Greets.",
    parameters: object({ name: text }),
    prepareArguments(args) {
      const { who, ...rest } = args as { who?: unknown };
      return who === undefined ? rest : { ...rest, name: who };
    },
    execute: ({ name }) => `hello ${name}`,
  }),
];

const policy = defineHooks({
  tools: ["echo"],
  beforeToolCall(cx) {
    switch (cx.parseArguments().text) {
      case "block me":
        return Decision.block("not this");
      case "ask me":
        return Decision.ask("Sure?", "echo asks");
      case "change me":
        return Decision.replace({ text: "changed" });
      case "fail me":
        throw new Error("hook broke");
      default:
        return Decision.allow();
    }
  },
  afterToolCall: (cx) => (joinedText(cx.result) === "secret" ? { content: "[redacted]" } : undefined),
});

const journal = defineHooks({
  settled: (cx) => log.info(`settled ${cx.call.name} ${cx.isError}`),
});

export const hooks = [policy, journal];

// What tsc has to accept and to refuse; nothing of it runs.

import { Content, Decision, type Infer, type RawNumber, defineHooks, defineTool, json } from "@toolgate/sdk";
import { Type } from "typebox";
import * as z from "zod";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._: Same<A, B> extends true ? [] : ["differ"]): void {}

const common = { name: "t", description: "d" };

defineTool({
  ...common,
  parameters: {
    type: "object",
    properties: {
      text: { type: "string" },
      count: { type: "integer" },
      deep: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
      list: { type: "array", items: { type: "number" } },
      kind: { enum: ["a", "b"] },
      maybe: { type: ["string", "null"] },
      either: { anyOf: [{ type: "string" }, { type: "array", items: { const: 1 } }] },
      anything: {},
      map: { type: "object", additionalProperties: { type: "number" } },
    },
    required: ["text", "deep", "either", "anything"],
  },
  execute(args) {
    same<
      typeof args,
      {
        text: string;
        deep: { on: boolean };
        either: string | 1[];
        anything: unknown;
        count?: number | undefined;
        list?: number[] | undefined;
        kind?: "a" | "b" | undefined;
        maybe?: string | null | undefined;
        map?: Record<string, number> | undefined;
      }
    >();
  },
});

defineTool({
  ...common,
  numbers: "exact",
  parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  execute: ({ n }) => void same<typeof n, number | RawNumber>(),
});

const zod = z.object({ a: z.string(), b: z.number().default(1) });
defineTool({ ...common, parameters: zod, execute: (args) => void same<typeof args, { a: string; b: number }>() });
same<Infer<typeof zod>, { a: string; b: number }>();

defineTool({
  ...common,
  parameters: Type.Object({ a: Type.String(), b: Type.Optional(Type.Array(Type.Integer())) }),
  execute({ a, b }) {
    same<typeof a, string>();
    same<typeof b, number[] | undefined>();
  },
});

defineTool({ ...common, execute: (args) => void same<typeof args, Record<string, unknown>>() });

const output = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
defineTool({ ...common, output, execute: () => json({ n: 1 }) });
defineTool({ ...common, output, execute: () => "only text" });
defineTool({ ...common, output, execute: async () => ({ content: [Content.text("a")], structuredContent: { n: 1 } }) });
// @ts-expect-error: the data does not fit the output
defineTool({ ...common, output, execute: () => json({ n: "1" }) });
// @ts-expect-error: data goes through json()
defineTool({ ...common, execute: () => ({ rows: [] }) });
// @ts-expect-error: a number is no answer
defineTool({ ...common, execute: () => 7 });
// @ts-expect-error: no description
defineTool({ name: "t", execute: () => "a" });
// @ts-expect-error: a path or a value
defineTool({ ...common, exclusive: [{ access: "read" }], execute: () => "a" });

defineHooks({
  tools: ["bash"],
  beforeToolCall: async (cx) => (cx.isCancelled ? Decision.block("no") : undefined),
  afterToolCall: (cx) => (cx.isError ? { content: "x" } : undefined),
  settled: (cx) => void same<typeof cx.durationMs, number>(),
});
// @ts-expect-error: a string is no decision
defineHooks({ beforeToolCall: () => "no" });
// @ts-expect-error: unknown field
defineHooks({ afterToolCall: () => ({ text: "x" }) });

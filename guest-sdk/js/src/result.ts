// What a tool answers, and what can be turned into an answer.

import type { WireResult } from "./backend.js";
import { Content, describe, fromWire, isContent, string, toWire } from "./content.js";
import { parseExact, stringify } from "./json.js";

/** An answer with everything. A field not given and `null` are different; `undefined` is not given. */
export interface ToolResult {
  /** For the model. A string is one text block. */
  content?: string | Content | readonly (string | Content)[] | undefined;
  /** For programs and user interfaces; the model does not see it. Anything JSON can hold. */
  details?: unknown;
  /** The answer as data, for a tool that declares an `output` schema. */
  structuredContent?: unknown;
  /** Token or cost accounting. */
  usage?: object | undefined;
  /** The call failed although it has a result to show. */
  isError?: boolean | undefined;
  /** A hint that the run may stop here; it counts only where every result of the batch says true. */
  terminate?: boolean | undefined;
  /** Tools that become callable from the next turn on. */
  addedToolNames?: readonly string[] | undefined;
}

/** What a tool without data may return. */
export type PlainAnswer = string | Content | readonly (string | Content)[] | void | undefined;

/** What a tool may return, or send as a partial result. */
export type Answer = PlainAnswer | ToolResult;

/** A result as a hook or a test sees it. */
export interface GivenResult {
  content: Content[];
  details?: unknown;
  structuredContent?: unknown;
  usage?: unknown;
  isError: boolean;
  terminate?: boolean;
  addedToolNames?: string[];
}

/** Data as the answer: structured content, and the same JSON as text for the model. */
export function json<T>(value: T): { content: string; structuredContent: T } {
  const text = stringify(value);
  if (text === undefined) throw new TypeError(`JSON has no form for ${describe(value)}`);
  return { content: text, structuredContent: value };
}

const FIELDS = new Set(["content", "details", "structuredContent", "usage", "isError", "terminate", "addedToolNames"]);

export function contentToWire(content: ToolResult["content"]): WireResult["content"] {
  if (content === undefined) return [];
  const blocks = Array.isArray(content) ? (content as readonly (string | Content)[]) : [content as string | Content];
  return blocks.map((block) => {
    if (typeof block === "string") return toWire(Content.text(block));
    if (isContent(block)) return toWire(block);
    throw new TypeError(`A content block is a string or made by Content, not ${describe(block)}`);
  });
}

/** A JSON document for an option of the contract; `undefined` is not given. */
export function option(what: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = stringify(value);
  if (text === undefined) throw new TypeError(`${what}: JSON has no form for ${describe(value)}`);
  return text;
}

export function resultToWire(answer: Answer): WireResult {
  if (answer === undefined) return { content: [], isError: false };
  if (typeof answer === "string" || Array.isArray(answer) || isContent(answer)) {
    return { content: contentToWire(answer as ToolResult["content"]), isError: false };
  }
  if (answer === null || typeof answer !== "object") {
    throw new TypeError(`A tool answers with a string, content or a result, not with ${describe(answer)}; for data use json(value)`);
  }
  const result = answer as ToolResult;
  const unknown = Object.keys(result).find((key) => !FIELDS.has(key));
  if (unknown !== undefined || Object.keys(result).length === 0) {
    const what = unknown === undefined ? "an empty object" : `an object with \`${unknown}\``;
    throw new TypeError(`A tool answered with ${what}, which is no result; for data use json(value)`);
  }
  return {
    content: contentToWire(result.content),
    details: option("details", result.details),
    structuredContent: option("structuredContent", result.structuredContent),
    usage: option("usage", result.usage),
    isError: result.isError === true,
    terminate: result.terminate === undefined ? undefined : result.terminate === true,
    addedToolNames: result.addedToolNames?.map((name) => string("A name in addedToolNames", name)),
  };
}

export function resultFromWire(wire: WireResult): GivenResult {
  const result: GivenResult = { content: wire.content.map(fromWire), isError: wire.isError };
  if (wire.details != null) result.details = parseExact(wire.details);
  if (wire.structuredContent != null) result.structuredContent = parseExact(wire.structuredContent);
  if (wire.usage != null) result.usage = parseExact(wire.usage);
  if (wire.terminate != null) result.terminate = wire.terminate;
  if (wire.addedToolNames != null) result.addedToolNames = wire.addedToolNames;
  return result;
}

/** The text blocks, one after another on lines of their own. */
export function joinedText(result: { content: readonly Content[] }): string {
  return result.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

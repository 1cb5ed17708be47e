// Write Toolgate tools and hooks in JavaScript or TypeScript. A plugin is a module that exports `tools`, `hooks` or both;
// `toolgate-sdk build` makes a component of it.

export { Content } from "./content.js";
export type {
  AudioContent,
  BlockExtras,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
} from "./content.js";
export { ToolError } from "./errors.js";
export { Decision, defineHooks } from "./hooks.js";
export type { AfterContext, BeforeContext, Hooks, HookSettings, Override, SettledContext } from "./hooks.js";
export { host, log } from "./host.js";
export type { Batch, Host, Scope, State } from "./host.js";
export { isRawNumber, parseExact, stringify } from "./json.js";
export type { RawNumber } from "./json.js";
export { joinedText, json } from "./result.js";
export type { Answer, GivenResult, ToolResult } from "./result.js";
export { withJsonSchema } from "./schema.js";
export type { Exact, Infer, JsonSchema, Schema, StandardSchema } from "./schema.js";
export { FileError, env, files, grantedPaths } from "./system.js";
export type { FileType } from "./system.js";
export { defineTool } from "./tool.js";
export type { Arguments, ExclusiveKey, Hints, Tool, ToolContext, ToolSettings } from "./tool.js";

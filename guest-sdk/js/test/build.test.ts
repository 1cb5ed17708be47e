// The command, as an author runs it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";

const COMMAND = path.resolve("bin/toolgate-sdk.mjs");
// Within the SDK's folder: what the modules import is found from there.
mkdirSync("node_modules/.cache", { recursive: true });
const folder = mkdtempSync(path.resolve("node_modules/.cache/build-test-"));
after(() => rmSync(folder, { recursive: true }));

function build(source: string, ...args: string[]) {
  writeFileSync(path.join(folder, "index.ts"), `import { defineHooks, defineTool } from "@toolgate/sdk";\n${source}`);
  const { status, stderr } = spawnSync(process.execPath, [COMMAND, "build", ...args], { cwd: folder, encoding: "utf8" });
  return { status, stderr };
}

const TOOL = `defineTool({ name: "t", description: "d", execute: async () => "a" })`;

test("a component is left in dist under the package's name", () => {
  writeFileSync(path.join(folder, "package.json"), `{"name": "@someone/my-plugin"}`);
  const { status, stderr } = build(`export const tools = [${TOOL}];`);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /dist\/my-plugin\.wasm, \d+ KiB/);
  assert.ok(statSync(path.join(folder, "dist/my-plugin.wasm")).size > 1_000_000);
  assert.ok(!existsSync(path.join(folder, "dist/my-plugin.wasm.new")));
});

test("what can't become a component is said in the author's words", () => {
  for (const [source, expected] of [
    [`export const tool = ${TOOL};`, /exports neither `tools` nor `hooks`/],
    [`export const tools = [{}];`, /top-level code.*tools\[0\] is an object, not made by defineTool/s],
    [`export const hooks = [${TOOL}];`, /hooks\[0\] is an object, not made by defineHooks/],
    [`throw new Error("no luck"); export const tools = [];`, /top-level code.*no luck/s],
    [`import { readFileSync } from "node:fs"; export const tools = [readFileSync];`, /node:fs is Node's own/],
    [`export const tools = [await Promise.resolve(${TOOL})];`, /Top-level await is not available/],
    [`export const tools = [`, /Unexpected end of file/],
    [`import { host } from "@toolgate/sdk"; host.config(); export const tools = [];`, /The host is not there/],
  ] as const) {
    const { status, stderr } = build(source);
    assert.equal(status, 1, `${source}\n${stderr}`);
    assert.match(stderr, expected, source);
    assert.ok(!/at .*component\.mjs/.test(stderr), `a stack trace is no help: ${stderr}`);
  }
});

test("wrong options are named", () => {
  assert.match(build("", "--engine", "v8").stderr, /--engine is quickjs or starlingmonkey, not v8/);
  assert.match(build("", "--engine", "starlingmonkey", "none.ts").stderr, /none\.ts is not there/);
  assert.match(build("", "--nonsense").stderr, /Unknown option '--nonsense'/);
  const { stderr } = build(`export const tools = [${TOOL}];`, "--engine", "starlingmonkey");
  assert.match(stderr, /npm install --save-dev @bytecodealliance\/componentize-js/);
});

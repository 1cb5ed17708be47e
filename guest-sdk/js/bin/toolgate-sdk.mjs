#!/usr/bin/env node
// The command of the SDK: builds a plugin's component, runs a plugin's tests.

import { parseArgs } from "node:util";
import { Problem, build } from "../build/component.mjs";
import { test } from "../build/test.mjs";

const USAGE = `toolgate-sdk build [ENTRY] [-o FILE] [options]   make a component of a plugin
toolgate-sdk test [FILE...]                       run a plugin's unit tests with Node's own runner

ENTRY is the module that exports \`tools\`, \`hooks\` or both: by default src/index.{ts,js} or index.{ts,js}.
FILE is by default dist/NAME.wasm, NAME being the package's.

  --engine quickjs|starlingmonkey   quickjs by default; starlingmonkey has all web APIs, is eight times as large and needs
                                    the package @bytecodealliance/componentize-js
  --optimize speed|size             of the quickjs engine; speed by default
  --minify                          shorter code: smaller by some kilobytes, stack traces without names

Tests are by default the files test/**/*.test.{ts,js,mts,mjs} and src/**/*.test.{ts,js,mts,mjs}.`;

const options = {
  output: { type: "string", short: "o" },
  engine: { type: "string", default: "quickjs" },
  optimize: { type: "string", default: "speed" },
  minify: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

async function main() {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, ...rest] = positionals;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  for (const [option, allowed] of [["engine", ["quickjs", "starlingmonkey"]], ["optimize", ["speed", "size"]]]) {
    if (!allowed.includes(values[option])) throw new Problem(`--${option} is ${allowed.join(" or ")}, not ${values[option]}`);
  }
  if (command === "build" && rest.length <= 1) return build(rest[0], values);
  if (command === "test") return test(rest);
  console.error(USAGE);
  return 2;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Problem) && error?.code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw error;
  console.error(error.message);
  process.exitCode = 1;
}

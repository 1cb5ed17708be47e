// Unit tests with Node's runner. Bundled first, so that TypeScript works with every Node.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import * as esbuild from "esbuild";
import { Problem } from "./component.mjs";
import { alias } from "./resolve.mjs";

const OUT = "node_modules/.cache/toolgate-sdk-test";
const IS_TEST = /\.test\.m?[jt]s$/;

function found() {
  return ["test", "src"].filter(existsSync).flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((file) => IS_TEST.test(file))
      .map((file) => path.join(folder, file)),
  );
}

export async function test(given) {
  const files = given.length > 0 ? given : found();
  if (files.length === 0) throw new Problem("There are no tests: test/NAME.test.ts, for example");
  await rm(OUT, { recursive: true, force: true });
  await esbuild.build({
    entryPoints: files,
    bundle: true,
    outdir: OUT,
    outbase: ".",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    packages: "external",
    target: "node20",
    sourcemap: "inline",
    alias,
  });
  const outputs = files.map((file) => path.join(OUT, file.replace(/\.m?[jt]s$/, ".mjs")));
  // Exact numbers rest on JSON.rawJSON, which Node 20 has behind a flag.
  const flags = JSON.rawJSON ? [] : ["--harmony-json-parse-with-source"];
  const node = spawn(process.execPath, ["--enable-source-maps", ...flags, "--test", ...outputs], { stdio: "inherit" });
  return new Promise((resolve) => node.on("exit", (code) => resolve(code ?? 1)));
}

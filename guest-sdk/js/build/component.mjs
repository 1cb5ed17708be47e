// A plugin's modules become one bundle, the bundle a component.

import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { SDK, alias } from "./resolve.mjs";

/** What the author can mend, said without a stack trace. */
export class Problem extends Error {}

const INTERFACES = ["cancellation", "log", "state", "config", "batch"];
const VERSION = "0.1.0";
const WASI = "0.2.12";

const ENTRIES = ["src/index.ts", "src/index.js", "src/index.mts", "src/index.mjs", "index.ts", "index.js"];

export async function build(given, { output, engine, optimize, minify }) {
  const entry = given ?? ENTRIES.find((file) => existsSync(file));
  if (entry === undefined) throw new Problem(`There is no ${ENTRIES[0]}; name the module that exports \`tools\` or \`hooks\``);
  if (!existsSync(entry)) throw new Problem(`${entry} is not there`);
  const file = output ?? path.join("dist", `${await packageName()}.wasm`);
  const has = await exportsOf(entry, engine);
  if (!has.tools && !has.hooks) {
    throw new Problem(`${entry} exports neither \`tools\` nor \`hooks\`: export const tools = [defineTool({ … })]`);
  }
  const world = has.tools && has.hooks ? "plugin" : has.tools ? "tools" : "hooks";
  const source = await bundle(entryCode(entry, engine, has), engine, minify);
  const component = await (engine === "quickjs" ? quickjs(source, world, optimize) : starlingmonkey(source, world));
  await mkdir(path.dirname(file), { recursive: true });
  // In one step, so that a host that watches the file never reads half of it.
  await writeFile(`${file}.new`, component);
  await rename(`${file}.new`, file);
  console.error(`${file}, ${Math.ceil(component.length / 1024)} KiB`);
  return 0;
}

async function packageName() {
  const { name } = JSON.parse(await readFile("package.json", "utf8").catch(() => "{}"));
  if (typeof name !== "string") throw new Problem("package.json is not there or has no name; give the file with -o");
  return name.replace(/^@[^/]*\//, "");
}

function settings(engine, minify) {
  return {
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2024",
    // Promises are the SDK's own in QuickJS (src/globals/promise.ts): nothing may make native ones.
    supported:
      engine === "quickjs"
        ? { "async-await": false, "async-generator": false, "for-await": false, "top-level-await": false }
        : { "top-level-await": false },
    external: ["toolgate:*", "wasi:*"],
    alias,
    define: { "process.env.NODE_ENV": '"production"' },
    minify,
    keepNames: minify,
    legalComments: "none",
    logLevel: "silent",
    plugins: [nodeModules],
  };
}

/** What Node has and a component lacks is said where it is asked for. */
const nodeModules = {
  name: "node-modules",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path: module }) => ({
      errors: [{ text: `${module} is Node's own; a component has no ${module.slice(5)}` }],
    }));
  },
};

async function run(options) {
  try {
    return await esbuild.build(options);
  } catch (error) {
    if (!error.errors) throw error;
    const lines = await esbuild.formatMessages(error.errors, { kind: "error", color: process.stderr.isTTY });
    throw new Problem(lines.join("").trimEnd());
  }
}

async function exportsOf(entry, engine) {
  const { metafile } = await run({ ...settings(engine, false), entryPoints: [entry], metafile: true, outdir: "unused" });
  const found = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint !== undefined);
  return { tools: found.exports.includes("tools"), hooks: found.exports.includes("hooks") };
}

/** The engine first: what runs later sees its globals. */
function entryCode(entry, engine, has) {
  const module = (name) => JSON.stringify(path.join(SDK, "src", name));
  const interfaces = has.tools ? ["progress", ...INTERFACES] : INTERFACES;
  const lines = [
    `import ${module(`engines/${engine}.ts`)};`,
    `import { setBackend } from ${module("backend.ts")};`,
    `import { hookExports, toolExports } from ${module("exports.ts")};`,
    `import * as plugin from ${JSON.stringify(path.resolve(entry))};`,
    ...interfaces.map((name) => `import * as ${name} from "toolgate:plugin/${name}@${VERSION}";`),
    `setBackend({ ${interfaces.join(", ")} });`,
  ];
  // 64-bit integers: numbers in QuickJS, bigints in StarlingMonkey.
  const size = engine === "quickjs" ? "(value) => value" : "BigInt";
  lines.push(
    `import { getDirectories } from "wasi:filesystem/preopens@${WASI}";`,
    `import { getEnvironment } from "wasi:cli/environment@${WASI}";`,
    `import { setSystem } from ${module("system.ts")};`,
    `setSystem({ getDirectories, getEnvironment, size: ${size} });`,
  );
  if (engine === "quickjs") {
    lines.push(
      `import { getRandomBytes } from "wasi:random/random@${WASI}";`,
      `import { useRandom } from ${module("globals/random.ts")};`,
      `useRandom(getRandomBytes);`,
    );
  }
  if (has.tools) lines.push(`export const tools = toolExports(plugin.tools);`);
  if (has.hooks) lines.push(`export const hooks = hookExports(plugin.hooks);`);
  return lines.join("\n");
}

async function bundle(contents, engine, minify) {
  const stdin = { contents, resolveDir: process.cwd(), sourcefile: "component.js" };
  const { outputFiles } = await run({ ...settings(engine, minify), stdin, outfile: "component.js" });
  return outputFiles[0].text;
}

async function quickjs(jsSource, world, optimize) {
  const { componentize } = await import("componentize-qjs");
  const options = { witPath: path.join(SDK, "wit"), jsSource, world, sync: true, optSize: optimize === "size" };
  return (await componentize(options).catch(topLevel)).component;
}

/** The one thing of an author's that can go wrong once the bundle is there. */
function topLevel(error) {
  throw new Problem(`The plugin's top-level code, which runs while the component is built, failed: ${error.message}`);
}

async function starlingmonkey(source, world) {
  const name = "@bytecodealliance/componentize-js";
  // The plugin's own dependency: resolved from its folder, by hand, since the package has no entry for require.resolve.
  const folders = createRequire(path.resolve("package.json")).resolve.paths(name) ?? [];
  const folder = folders.map((modules) => path.join(modules, name)).find((found) => existsSync(found));
  if (folder === undefined) throw new Problem(`--engine starlingmonkey needs ${name}: npm install --save-dev ${name}`);
  const { exports } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const { componentize } = await import(pathToFileURL(path.join(folder, exports.import ?? exports["."].import)));
  const options = { witPath: path.join(SDK, "wit"), worldName: world, enableAot: false };
  return (await componentize(source, options).catch(topLevel)).component;
}

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { FileError, env, files, grantedPaths } from "@toolgate/sdk";
import * as testing from "@toolgate/sdk/testing";

afterEach(testing.reset);

test("files are read, written, listed and removed in what is granted", () => {
  testing.setFiles("/w", { "a.txt": "é", "deep/b.bin": Uint8Array.of(1, 2) });
  assert.deepEqual(grantedPaths(), ["/w"]);
  assert.equal(files.readText("/w/a.txt"), "é");
  assert.equal(files.readText("/w/deep/.././a.txt"), "é");
  assert.deepEqual(files.list("/w"), [
    { name: "a.txt", type: "file" },
    { name: "deep", type: "directory" },
  ]);
  assert.deepEqual(files.stat("/w/deep/b.bin"), { type: "file", size: 2, modified: undefined });
  const large = new Uint8Array(600_000).map((_, at) => at);
  files.write("/w/deep/c", large);
  assert.deepEqual(files.read("/w/deep/c"), large);
  files.write("/w/deep/c", "short");
  assert.equal(files.readText("/w/deep/c"), "short");
  files.makeDirectory("/w/new");
  files.remove("/w/new");
  files.remove("/w/a.txt");
  assert.deepEqual(files.list("/w/").map((entry) => entry.name), ["deep"]);
});

test("a file error says what is granted where that may be the reason", () => {
  assert.throws(() => files.read("/a"), { message: "/a: the path is outside of what is granted (no directory is granted to this plugin)" });
  testing.setFiles("/w", { "a.txt": "" });
  const granted = "(directories granted to this plugin: /w)";
  assert.throws(() => files.read("/w/b"), { name: "FileError", code: "no-entry", message: `/w/b: no such file or directory ${granted}` });
  assert.throws(() => files.read("/w/../etc/passwd"), { code: "not-granted", message: new RegExp("outside of what is granted") });
  assert.throws(() => files.read("/wide"), (error) => error instanceof FileError && error.code === "not-granted");
  assert.throws(() => files.list("/w/a.txt"), { message: "/w/a.txt: not a directory" });
  assert.throws(() => files.write("/w/a.txt", 7 as never), /not number/);
});

test("environment values", () => {
  testing.setEnv({ A: "b" });
  assert.deepEqual(env(), { A: "b" });
});

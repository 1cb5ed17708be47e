import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { joinedText } from "@toolgate/sdk";
import * as testing from "@toolgate/sdk/testing";
import { tools } from "../src/index.js";

const [query, outline] = tools as [(typeof tools)[0], (typeof tools)[0]];
const ask = async (args: object) => joinedText(await testing.call(query, args));

afterEach(testing.reset);

test("an expression is evaluated", async () => {
  const data = { people: [{ name: "Ada", age: 36 }, { name: "Bob", age: 20 }] };
  assert.equal(await ask({ data, expression: "people[?age > `30`].name" }), '["Ada"]');
  assert.equal(await ask({ data, expression: "nothing.there" }), "null");
  await assert.rejects(ask({ data, expression: "people[" }), /The expression failed: Syntax error/);
});

test("files are read, also with one document per line", async () => {
  testing.setFiles("/data", { "a.json": '\ufeff{"n": 9007199254740993}', "b.jsonl": '{"n":1}\n\n{"n":2}\n', "c.json": "{" });
  assert.equal(await ask({ path: "/data/a.json", expression: "n" }), "9007199254740993");
  assert.equal(await ask({ path: "/data/b.jsonl", expression: "[].n" }), "[1,2]");
  await assert.rejects(ask({ path: "/data/c.json", expression: "@" }), /c\.json is not JSON/);
  await assert.rejects(ask({ path: "/etc/a.json", expression: "@" }), /outside of what is granted.*\/data/);
  await assert.rejects(ask({ expression: "@" }), /either path or data/);
});

test("a long result is refused with advice", async () => {
  testing.setConfig({ "max-result-characters": 10 });
  await assert.rejects(ask({ data: "a".repeat(20), expression: "@" }), /22 characters, more than 10: ask for less/);
});

test("an outline shows keys, types and lengths", async () => {
  const data = { rows: [{ id: 1, tag: "a" }, { id: "2", tags: [1, 2, 3] }], empty: [], done: null };
  const text = joinedText(await testing.call(outline, { data }));
  assert.equal(
    text,
    `object
  "rows": array of 2
    []: object
      "id": number | string
      "tag"?: string
      "tags"?: array of 3
        []: number
  "empty": array of 0
  "done": null`,
  );
  assert.equal(joinedText(await testing.call(outline, { data, depth: 1 })).split("\n").length, 4);
});

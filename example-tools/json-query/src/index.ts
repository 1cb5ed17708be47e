// json-query: tools that look into JSON documents without reading them whole into the conversation.

import { type JSONValue, search } from "@jmespath-community/jmespath";
import { ToolError, defineTool, json } from "@toolgate/sdk";
import { outline } from "./outline.js";
import { SOURCE, load } from "./source.js";

const MOST_CHARACTERS = 50_000;

const query = defineTool({
  name: "json_query",
  label: "Query JSON",
  description: `Evaluates a JMESPath expression over a JSON document and answers with the result as JSON.
Examples: people[?age > \`30\`].name, sort_by(orders, &total)[-3:], length(items), {names: users[].name, first: users[0]}.
Literals stand in backticks (\`30\`), strings in single quotes ('x'). Use json_outline first when the shape is unknown.`,
  hints: { readOnly: true, idempotent: true, openWorld: false },
  numbers: "exact",
  parameters: {
    type: "object",
    properties: {
      expression: { type: "string", minLength: 1, description: "A JMESPath expression." },
      ...SOURCE,
    },
    required: ["expression"],
    additionalProperties: false,
  },
  exclusive: [{ path: "/path", access: "read" }],
  execute({ expression, ...source }, cx) {
    const document = load(source);
    let result: unknown;
    try {
      result = search(document as JSONValue, expression);
    } catch (error) {
      throw new ToolError(`The expression failed: ${(error as Error).message}`);
    }
    const answer = json(result ?? null);
    const most = cx.configKey<number>("max-result-characters") ?? MOST_CHARACTERS;
    if (answer.content.length > most) {
      const size = `${answer.content.length} characters, more than ${most}`;
      throw new ToolError(`The result has ${size}: ask for less, for example with [:20], a projection or length(@)`);
    }
    return { content: answer.content, details: { characters: answer.content.length } };
  },
});

const shape = defineTool({
  name: "json_outline",
  label: "Outline JSON",
  description: "Shows the shape of a JSON document: keys, types and array lengths, without the values.",
  hints: { readOnly: true, idempotent: true, openWorld: false },
  numbers: "exact",
  parameters: {
    type: "object",
    properties: {
      ...SOURCE,
      depth: { type: "integer", minimum: 1, maximum: 20, description: "Levels to show; 4 by default." },
    },
    additionalProperties: false,
  },
  exclusive: [{ path: "/path", access: "read" }],
  execute: ({ depth, ...source }) => outline(load(source), Number(depth ?? 4)),
});

export const tools = [query, shape];

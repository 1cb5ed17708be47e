// Where the document comes from: given in the call, or a file in a granted directory.

import { ToolError, files, parseExact } from "@toolgate/sdk";

export interface Source {
  path?: string | undefined;
  data?: unknown;
}

export const SOURCE = {
  path: {
    type: "string",
    description: "A JSON file; .jsonl and .ndjson are read as an array with one document per line. Give this or data.",
  },
  data: { description: "The document itself. Give this or path." },
} as const;

const LINES = /\.(jsonl|ndjson)$/i;

/** The document, numbers with all their digits. */
export function load({ path, data }: Source): unknown {
  if ((path === undefined) === (data === undefined)) throw new ToolError("Give either path or data");
  if (path === undefined) return data;
  const text = files.readText(path);
  if (!LINES.test(path)) return parse(text, path);
  const lines = text.split("\n").map((line, at) => [line.trim(), at + 1] as const);
  return lines.filter(([line]) => line !== "").map(([line, number]) => parse(line, `${path}, line ${number}`));
}

function parse(text: string, where: string): unknown {
  try {
    return parseExact(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new ToolError(`${where} is not JSON: ${(error as Error).message}`);
  }
}

// The shape of a document, in so few lines that a model can read them before it asks for more.

import { isRawNumber } from "@toolgate/sdk";

const MOST_KEYS = 40;
const MOST_SAMPLED = 200;

/** What one place of the document holds, over all the array elements that lead there. */
interface Shape {
  types: Set<string>;
  /** Of the objects here: how many, and what is in them. */
  objects: number;
  keys: Map<string, { count: number; shape: Shape }>;
  items: Shape | undefined;
  least: number;
  most: number;
}

const fresh = (): Shape => ({
  types: new Set(),
  objects: 0,
  keys: new Map(),
  items: undefined,
  least: Number.POSITIVE_INFINITY,
  most: 0,
});

function add(shape: Shape, value: unknown): void {
  if (value === null) shape.types.add("null");
  else if (isRawNumber(value)) shape.types.add("number");
  else if (Array.isArray(value)) {
    shape.types.add("array");
    shape.least = Math.min(shape.least, value.length);
    shape.most = Math.max(shape.most, value.length);
    shape.items ??= fresh();
    for (const item of value.slice(0, MOST_SAMPLED)) add(shape.items, item);
  } else if (typeof value === "object") {
    shape.types.add("object");
    shape.objects += 1;
    for (const [key, part] of Object.entries(value)) {
      let found = shape.keys.get(key);
      if (found === undefined) shape.keys.set(key, (found = { count: 0, shape: fresh() }));
      found.count += 1;
      add(found.shape, part);
    }
  } else shape.types.add(typeof value);
}

function name({ types, least, most }: Shape): string {
  const length = least === most ? `${least}` : `${least}…${most}`;
  return [...types].map((type) => (type === "array" ? `array of ${length}` : type)).join(" | ") || "nothing";
}

function write(shape: Shape, indent: string, depth: number, lines: string[]): void {
  if (depth === 0) return;
  const keys = [...shape.keys];
  for (const [key, { count, shape: part }] of keys.slice(0, MOST_KEYS)) {
    lines.push(`${indent}${JSON.stringify(key)}${count < shape.objects ? "?" : ""}: ${name(part)}`);
    write(part, `${indent}  `, depth - 1, lines);
  }
  if (keys.length > MOST_KEYS) lines.push(`${indent}… and ${keys.length - MOST_KEYS} more keys`);
  if (shape.items !== undefined && shape.items.types.size > 0) {
    lines.push(`${indent}[]: ${name(shape.items)}`);
    write(shape.items, `${indent}  `, depth - 1, lines);
  }
}

/** Types by key, array elements taken together; `?` marks keys that not all elements have. */
export function outline(document: unknown, depth: number): string {
  const shape = fresh();
  add(shape, document);
  const lines = [name(shape)];
  write(shape, "  ", depth, lines);
  return lines.join("\n");
}

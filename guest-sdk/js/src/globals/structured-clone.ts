// structuredClone of what JavaScript itself can hold.

const ERRORS: Record<string, ErrorConstructor> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

export function structuredClone<T>(value: T): T {
  return clone(value, new Map()) as T;
}

function clone(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === "symbol" || typeof value === "function") {
    throw new DOMException(`${String(value)} could not be cloned`, "DataCloneError");
  }
  if (value === null || typeof value !== "object") return value;
  if (seen.has(value)) return seen.get(value);
  const keep = <V extends object>(copy: V): V => {
    seen.set(value, copy);
    return copy;
  };
  if (Array.isArray(value)) {
    const copy: unknown[] = keep(new Array(value.length));
    for (const key of Object.keys(value)) copy[key as never] = clone(value[key as never], seen) as never;
    return copy;
  }
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) {
    return keep(Object(value.valueOf()) as object);
  }
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = clone(value.buffer, seen) as ArrayBuffer;
    const length = value instanceof DataView ? value.byteLength : (value as Uint8Array).length;
    return keep(new (value.constructor as Uint8ArrayConstructor)(buffer, value.byteOffset, length));
  }
  if (value instanceof Map) {
    const copy = keep(new Map());
    for (const [key, part] of value) copy.set(clone(key, seen), clone(part, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const part of value) copy.add(clone(part, seen));
    return copy;
  }
  if (value instanceof Error) {
    const copy = keep(new (ERRORS[value.name] ?? Error)(value.message));
    if (value.stack !== undefined) copy.stack = value.stack;
    if ("cause" in value) copy.cause = clone(value.cause, seen);
    return copy;
  }
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise) {
    throw new DOMException(`${Object.prototype.toString.call(value)} could not be cloned`, "DataCloneError");
  }
  const copy: Record<string, unknown> = keep({});
  for (const [key, part] of Object.entries(value)) copy[key] = clone(part, seen);
  return copy;
}

// JSON as it crosses to the host: numbers keep their digits, text stays well-formed.

/** A number that no JavaScript number holds, as the text it was written in: what `JSON.rawJSON` makes. */
export interface RawNumber {
  readonly rawJSON: string;
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
// Not in TypeScript's library yet.
const native = JSON as unknown as {
  rawJSON?(text: string): RawNumber;
  isRawJSON?(value: unknown): boolean;
  parse(text: string, reviver: Reviver): unknown;
};

/** Whether a value is a number that is kept as its text. */
export function isRawNumber(value: unknown): value is RawNumber {
  return native.isRawJSON?.(value) ?? false;
}

/** The digits of a decimal and its scale, equal for equal values; minus zero is apart from zero. */
function canonical(number: string): string {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return `${sign}0`;
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${scale}`;
}

/** Whether a JavaScript number written as JSON has the value of `source`. */
function isExact(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) && String(value) === source) return true;
  return Number.isFinite(value) && !Object.is(value, -0) && canonical(String(value)) === canonical(source);
}

/**
 * Reads JSON without losing digits: a number that no JavaScript number holds (9007199254740993, 1e400, -0, 50 decimals)
 * becomes a `RawNumber`, whose `rawJSON` is its text. `stringify` writes it as it was.
 */
export function parseExact(text: string): unknown {
  const { rawJSON } = native;
  // Only in tests, under a Node older than 22.
  if (rawJSON === undefined) return JSON.parse(text);
  return native.parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && !isExact(value, context.source)
      ? rawJSON(context.source)
      : value,
  );
}

/** Writes JSON: raw numbers and bigints digit by digit, lone surrogates replaced. `undefined` where JSON has no form for it. */
export function stringify(value: unknown): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (!hasBigInt(value)) throw error;
    text = JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? raw(part) : part));
  }
  if (text === undefined || !text.includes("\\ud") || !/\\ud[89a-f]/.test(text)) return text;
  // A lone surrogate is escaped by JSON.stringify and refused by every strict reader.
  return JSON.stringify(JSON.parse(text, wellFormed));
}

function raw(value: bigint): unknown {
  return native.rawJSON?.(value.toString()) ?? Number(value);
}

function hasBigInt(value: unknown): boolean {
  const seen = new Set<unknown>();
  const visit = (part: unknown): boolean => {
    if (typeof part === "bigint") return true;
    if (part === null || typeof part !== "object" || seen.has(part)) return false;
    seen.add(part);
    return Object.values(part).some(visit);
  };
  return visit(value);
}

const wellFormed: Reviver = (_key, value, context) => {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number" && context?.source !== undefined) return native.rawJSON?.(context.source) ?? value;
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key.toWellFormed(), part]));
  }
  return value;
};

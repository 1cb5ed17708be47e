// console writes the operator's log.

import { log } from "../host.js";

function format(parts: unknown[]): unknown[] {
  const [first, ...rest] = parts;
  if (typeof first !== "string" || !first.includes("%")) return parts;
  const text = first.replace(/%[sdifoOjc%]/g, (mark) => {
    if (mark === "%%") return "%";
    if (rest.length === 0) return mark;
    const part = rest.shift();
    if (mark === "%c") return "";
    if (mark === "%s") return String(part);
    if (mark === "%d" || mark === "%i") return String(mark === "%i" ? Math.trunc(Number(part)) : Number(part));
    if (mark === "%f") return String(Number(part));
    return typeof part === "string" ? part : (JSON.stringify(part) ?? String(part));
  });
  return [text, ...rest];
}

const counts = new Map<string, number>();
const times = new Map<string, number>();

export const console = {
  trace: (...parts: unknown[]) => log.trace(...format(parts)),
  debug: (...parts: unknown[]) => log.debug(...format(parts)),
  log: (...parts: unknown[]) => log.info(...format(parts)),
  info: (...parts: unknown[]) => log.info(...format(parts)),
  dir: (part: unknown) => log.info(part),
  table: (part: unknown) => log.info(part),
  group: (...parts: unknown[]) => log.info(...format(parts)),
  groupCollapsed: (...parts: unknown[]) => log.info(...format(parts)),
  groupEnd: () => {},
  warn: (...parts: unknown[]) => log.warn(...format(parts)),
  error: (...parts: unknown[]) => log.error(...format(parts)),
  assert(condition: unknown, ...parts: unknown[]) {
    if (!condition) log.error("Assertion failed:", ...format(parts));
  },
  count(label = "default") {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    log.info(`${label}: ${counts.get(label)}`);
  },
  countReset: (label = "default") => void counts.delete(label),
  time: (label = "default") => void times.set(label, performance.now()),
  timeLog: (label = "default") => log.info(`${label}: ${performance.now() - (times.get(label) ?? performance.now())} ms`),
  timeEnd(label = "default") {
    console.timeLog(label);
    times.delete(label);
  },
};

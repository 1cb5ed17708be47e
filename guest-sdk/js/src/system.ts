// Files and environment, as far as the operator granted them.

import { describe, string } from "./content.js";

/** Of WASI's filesystem, what is called here. Engines hand over its 64-bit sizes as numbers or as bigints. */
export interface Descriptor {
  read(length: Size, offset: Size): [Uint8Array, boolean];
  write(buffer: Uint8Array, offset: Size): Size;
  readDirectory(): { readDirectoryEntry(): { type: string; name: string } | null | undefined };
  createDirectoryAt(path: string): void;
  statAt(pathFlags: object, path: string): { type: string; size: Size; dataModificationTimestamp?: Timestamp | null };
  openAt(pathFlags: object, path: string, openFlags: object, flags: object): Descriptor;
  removeDirectoryAt(path: string): void;
  unlinkFileAt(path: string): void;
}
type Size = number | bigint;
type Timestamp = { seconds: Size; nanoseconds: number };

export interface System {
  getDirectories(): [Descriptor, string][];
  getEnvironment(): [string, string][];
  /** A size as this engine takes it. */
  size(value: number): Size;
}

const nothing: System = { getDirectories: () => [], getEnvironment: () => [], size: (value) => value };
let system = nothing;

export function setSystem(to: System): void {
  system = to;
}

/** The environment values granted to this plugin. */
export function env(): Record<string, string> {
  return Object.fromEntries(system.getEnvironment());
}

/** The guest paths of the directories granted to this plugin. */
export function grantedPaths(): string[] {
  return system.getDirectories().map(([, path]) => path);
}

const WORDS: Record<string, string> = {
  access: "permission denied",
  "bad-descriptor": "not a regular file",
  exist: "it exists already",
  "insufficient-space": "no space left",
  "is-directory": "it is a directory",
  "name-too-long": "the name is too long",
  "no-entry": "no such file or directory",
  "not-directory": "not a directory",
  "not-empty": "the directory is not empty",
  "not-permitted": "permission denied",
  "read-only": "read-only file system",
};
const GRANTS = new Set(["access", "no-entry", "not-permitted", "read-only"]);

/** A file operation failed. The message is fit for a model: it says what is granted where that may be the reason. */
export class FileError extends Error {
  readonly path: string;
  /** WASI's word, for example `no-entry`; `not-granted` where the path lies in no granted directory. */
  readonly code: string;

  constructor(path: string, code: string) {
    const granted = grantedPaths();
    const hint = granted.length > 0 ? `directories granted to this plugin: ${granted.join(", ")}` : "no directory is granted to this plugin";
    const what = code === "not-granted" ? "the path is outside of what is granted" : (WORDS[code] ?? code);
    super(`${path}: ${what}${code === "not-granted" || GRANTS.has(code) ? ` (${hint})` : ""}`);
    this.name = "FileError";
    this.path = path;
    this.code = code;
  }
}

/** `/a/./b/../c` without its detours. */
function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Runs an operation on the granted directory that holds the path. */
function at<T>(path: string, run: (directory: Descriptor, rest: string) => T): T {
  const wanted = normal(string("A path", path));
  let best: [Descriptor, string] | undefined;
  for (const [directory, granted] of system.getDirectories()) {
    const base = normal(granted);
    const holds = wanted === base || base === "/" || wanted.startsWith(`${base}/`);
    if (holds && (best === undefined || base.length > best[1].length)) best = [directory, base];
  }
  if (best === undefined) throw new FileError(path, "not-granted");
  const [directory, base] = best;
  try {
    return run(directory, wanted.slice(base === "/" ? 1 : base.length + 1) || ".");
  } catch (thrown) {
    const code = (thrown as { payload?: unknown }).payload;
    throw typeof code === "string" ? new FileError(path, code) : thrown;
  }
}

const FOLLOW = { symlinkFollow: true };
const CHUNK = 256 * 1024;

function read(path: string): Uint8Array {
  return at(path, (directory, rest) => {
    const file = directory.openAt(FOLLOW, rest, {}, { read: true });
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let done = false; !done; ) {
      const [bytes, ended] = file.read(system.size(CHUNK), system.size(length));
      parts.push(bytes);
      length += bytes.length;
      done = ended;
    }
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    const whole = new Uint8Array(length);
    let offset = 0;
    for (const part of parts) {
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  });
}

function write(path: string, data: string | Uint8Array): void {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  if (!(bytes instanceof Uint8Array)) throw new TypeError(`A file holds a string or a Uint8Array, not ${describe(data)}`);
  at(path, (directory, rest) => {
    const file = directory.openAt(FOLLOW, rest, { create: true, truncate: true }, { write: true });
    for (let written = 0; written < bytes.length; ) {
      const part = bytes.slice(written, written + CHUNK);
      written += Number(file.write(part, system.size(written)));
    }
  });
}

export type FileType = "file" | "directory" | "symlink" | "other";

const TYPES: Record<string, FileType> = {
  "regular-file": "file",
  directory: "directory",
  "symbolic-link": "symlink",
};
const typeOf = (wasi: string): FileType => TYPES[wasi] ?? "other";

function list(path: string): { name: string; type: FileType }[] {
  return at(path, (directory, rest) => {
    const entries = directory.openAt(FOLLOW, rest, { directory: true }, { read: true }).readDirectory();
    const all: { name: string; type: FileType }[] = [];
    for (let entry = entries.readDirectoryEntry(); entry != null; entry = entries.readDirectoryEntry()) {
      all.push({ name: entry.name, type: typeOf(entry.type) });
    }
    return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

function stat(path: string): { type: FileType; size: number; modified: Date | undefined } {
  return at(path, (directory, rest) => {
    const { type, size, dataModificationTimestamp: time } = directory.statAt(FOLLOW, rest);
    const modified = time == null ? undefined : new Date(Number(time.seconds) * 1000 + time.nanoseconds / 1e6);
    return { type: typeOf(type), size: Number(size), modified };
  });
}

/** Files in the granted directories. Everything throws a `FileError`. */
export const files = {
  read,
  /** As UTF-8; other bytes become U+FFFD. */
  readText: (path: string): string => new TextDecoder().decode(read(path)),
  /** Makes the file or replaces what is in it. Its directory has to be there. */
  write,
  /** What is in a directory, by name. */
  list,
  stat,
  makeDirectory: (path: string): void => at(path, (directory, rest) => directory.createDirectoryAt(rest)),
  /** Removes a file or an empty directory. */
  remove: (path: string): void =>
    at(path, (directory, rest) =>
      directory.statAt({}, rest).type === "directory" ? directory.removeDirectoryAt(rest) : directory.unlinkFileAt(rest),
    ),
};

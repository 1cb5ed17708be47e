// The host's side of the contract as the SDK calls it. A component sets it from its imports (component.ts), tests from a
// host that is played (testing.ts), so that nothing else in the SDK depends on where it runs.

export type Scope = "turn" | "conversation";
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

export interface Backend {
  progress: { update(partial: WireResult): void };
  cancellation: { isCancelled(): boolean; wait(timeoutMs: number): boolean };
  log: { write(level: LogLevel, message: string): void };
  state: {
    get(scope: Scope, key: string): Uint8Array | null | undefined;
    set(scope: Scope, key: string, value: Uint8Array): void;
    remove(scope: Scope, key: string): void;
    add(scope: Scope, key: string, delta: number): number;
  };
  config: { get(key: string): string | null | undefined; all(): string };
  batch: {
    position(): number;
    size(): number;
    turn(): string;
    conversation(): string;
    assistantMessage(): string;
  };
}

/** Absent is `undefined` towards the host; `null` comes back from some engines. */
export type Option<T> = T | null | undefined;

export interface WireCall {
  id: string;
  name: string;
  arguments: string;
}

export interface WireMedia {
  data: Uint8Array;
  mimeType: string;
  annotations?: Option<string>;
  meta?: Option<string>;
}

export type WireContent =
  | { tag: "text"; val: { text: string; annotations?: Option<string>; meta?: Option<string> } }
  | { tag: "image"; val: WireMedia }
  | { tag: "audio"; val: WireMedia }
  | {
      tag: "resource-link";
      val: {
        uri: string;
        name: string;
        title?: Option<string>;
        description?: Option<string>;
        mimeType?: Option<string>;
        size?: Option<number>;
        annotations?: Option<string>;
        meta?: Option<string>;
      };
    }
  | {
      tag: "embedded-resource";
      val: {
        uri: string;
        mimeType?: Option<string>;
        body: { tag: "text"; val: string } | { tag: "blob"; val: Uint8Array };
        annotations?: Option<string>;
        meta?: Option<string>;
      };
    };

export interface WireResult {
  content: WireContent[];
  details?: Option<string>;
  structuredContent?: Option<string>;
  usage?: Option<string>;
  isError: boolean;
  terminate?: Option<boolean>;
  addedToolNames?: Option<string[]>;
}

function missing(): never {
  throw new Error(
    "The host is not there. A call runs inside a component (toolgate-sdk build) or under @toolgate/sdk/testing.",
  );
}

const nobody = new Proxy({}, { get: () => missing });

/** False while a component is built: the plugin's top-level code runs then. */
export let isHosted = false;

/** Replaced once, before anything of the plugin is called. */
export let backend = {
  progress: nobody,
  cancellation: nobody,
  log: nobody,
  state: nobody,
  config: nobody,
  batch: nobody,
} as Backend;

export function setBackend(to: Backend): void {
  backend = to;
  isHosted = true;
}

// Parameters and outputs: JSON Schema as it is, or a schema library's type that can say its JSON Schema.

import type { RawNumber } from "./json.js";

/** A JSON Schema (2020-12), written by hand or by TypeBox. */
export type JsonSchema = object;

/**
 * A schema of a library that implements Standard Schema (https://standardschema.dev): zod, Valibot, ArkType and others.
 * Its JSON Schema is taken, in this order, from `~standard.jsonSchema` (Standard JSON Schema: zod 4.2, ArkType 2.1.28),
 * a method `toJSONSchema` or `toJsonSchema`, or what `withJsonSchema` put beside it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** What `parameters` and `output` take. */
export type Schema = JsonSchema | StandardSchema;

// --- the type of what fits a schema ---

type Flat<T> = { [K in keyof T]: T[K] } & {};

/** The type of what fits a schema: exact for Standard Schema and TypeBox; for plain JSON Schema as far as its common words go. */
export type Infer<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : S extends { readonly static: infer T }
    ? T
    : FromSchema<S>;

type FromSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer M)[] }
      ? Member<M>
      : S extends { readonly oneOf: readonly (infer M)[] }
        ? Member<M>
        : S extends { readonly type: readonly (infer T)[] }
          ? OfType<T, S>
          : S extends { readonly type: infer T }
            ? OfType<T, S>
            : unknown;

type Member<M> = M extends unknown ? Infer<M> : never;

type OfType<T, S> = T extends "string"
  ? string
  : T extends "integer" | "number"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? S extends { readonly items: infer I }
            ? Infer<I>[]
            : unknown[]
          : T extends "object"
            ? FromObject<S>
            : unknown;

type Required<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;

type FromObject<S> = S extends { readonly properties: infer P }
  ? keyof P extends never
    ? Record<string, unknown>
    : Flat<
        { -readonly [K in keyof P as K extends Required<S> ? K : never]: Infer<P[K]> } & {
          -readonly [K in keyof P as K extends Required<S> ? never : K]?: Infer<P[K]> | undefined;
        }
      >
  : S extends { readonly additionalProperties: infer A extends object }
    ? Record<string, Infer<A>>
    : Record<string, unknown>;

/** The same with numbers that may be kept as their text. */
export type Exact<T> = T extends number
  ? T | RawNumber
  : T extends readonly unknown[]
    ? { [K in keyof T]: Exact<T[K]> }
    : T extends object
      ? { [K in keyof T]: Exact<T[K]> }
      : T;

// --- the JSON Schema of a schema ---

const BESIDE = Symbol("JSON Schema");
const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** Puts a JSON Schema beside a Standard Schema that can't say its own. */
export function withJsonSchema<S extends StandardSchema>(schema: S, jsonSchema: JsonSchema): S {
  return Object.create(schema, { [BESIDE]: { value: jsonSchema } }) as S;
}

export function isStandard(schema: unknown): schema is StandardSchema {
  const standard = (schema as { "~standard"?: { validate?: unknown } } | null)?.["~standard"];
  return typeof standard?.validate === "function";
}

type Converter = ((options?: { target?: string }) => unknown) | undefined;
type MayKnow = {
  [BESIDE]?: JsonSchema;
  "~standard"?: { jsonSchema?: { input?: Converter; output?: Converter } };
  toJSONSchema?: Converter;
  toJsonSchema?: Converter;
};

/** The JSON Schema of what goes in (parameters) or comes out (output). */
export function jsonSchemaOf(what: string, schema: Schema, side: "input" | "output"): JsonSchema {
  if (schema === null || (typeof schema !== "object" && typeof schema !== "function")) {
    throw new TypeError(`${what} is no schema: give a JSON Schema, a TypeBox type or a Standard Schema`);
  }
  const library = schema as unknown as MayKnow;
  const standard = library["~standard"]?.jsonSchema?.[side];
  const method = library.toJSONSchema ?? library.toJsonSchema;
  let found: unknown;
  if (library[BESIDE]) found = library[BESIDE];
  else if (!isStandard(schema)) found = schema;
  else if (standard) found = standard({ target: "draft-2020-12" });
  else if (method) found = method.call(schema);
  if (found === null || typeof found !== "object") {
    const vendor = isStandard(schema) ? schema["~standard"].vendor : "";
    throw new TypeError(
      `${what}: this ${vendor} schema can't say its JSON Schema; give it with withJsonSchema(schema, jsonSchema)`,
    );
  }
  // Which draft is the contract's to say; a model only reads noise.
  const { $schema, ...rest } = found as { $schema?: unknown };
  if (typeof $schema === "string" && !/2020-12|draft-07/.test($schema)) {
    throw new TypeError(`${what}: ${$schema} is not ${DRAFT}`);
  }
  return rest;
}

/** Lets a Standard Schema check and complete arguments that have passed the host's validation. */
export async function refine(schema: StandardSchema, value: unknown): Promise<unknown> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value;
  const lines = result.issues.map(({ message, path }) => {
    const at = path?.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return at ? `${at}: ${message}` : message;
  });
  throw new Error(`Invalid arguments: ${lines.join("; ")}`);
}

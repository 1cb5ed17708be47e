// Content blocks: what an answer is made of. MCP's five, with bytes as bytes.

import type { Option, WireContent, WireMedia } from "./backend.js";
import { stringify } from "./json.js";

/** What every block may carry. */
export interface BlockExtras {
  /** MCP annotations. */
  annotations?: object | undefined;
  /** MCP `_meta`. */
  _meta?: object | undefined;
}

export interface TextContent extends BlockExtras {
  type: "text";
  text: string;
}

export interface ImageContent extends BlockExtras {
  type: "image";
  data: Uint8Array;
  mimeType: string;
}

export interface AudioContent extends BlockExtras {
  type: "audio";
  data: Uint8Array;
  mimeType: string;
}

/** A pointer to something the model or the user may read elsewhere. */
export interface ResourceLink extends BlockExtras {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  mimeType?: string | undefined;
  /** In bytes. */
  size?: number | undefined;
}

/** A text or bytes given in place, under a name of their own. */
export interface EmbeddedResource extends BlockExtras {
  type: "resource";
  resource: { uri: string; mimeType?: string | undefined } & (
    | { text: string; blob?: undefined }
    | { blob: Uint8Array; text?: undefined }
  );
}

/** One block of an answer. */
export type Content = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

type LinkExtras = Omit<ResourceLink, "type" | "uri" | "name">;
type ResourceExtras = BlockExtras & { mimeType?: string | undefined };

function embedded(
  resource: EmbeddedResource["resource"],
  { mimeType, ...rest }: ResourceExtras = {},
): EmbeddedResource {
  return { type: "resource", resource: mimeType === undefined ? resource : { ...resource, mimeType }, ...rest };
}

/** Makes blocks. */
export const Content = {
  /** Text for the model. */
  text: (text: string, extras?: BlockExtras): TextContent => ({ type: "text", text, ...extras }),
  /** An image, for example of type `image/png`. */
  image: (data: Uint8Array, mimeType: string, extras?: BlockExtras): ImageContent => ({
    type: "image",
    data,
    mimeType,
    ...extras,
  }),
  /** A sound, for example of type `audio/wav`. */
  audio: (data: Uint8Array, mimeType: string, extras?: BlockExtras): AudioContent => ({
    type: "audio",
    data,
    mimeType,
    ...extras,
  }),
  resourceLink: (uri: string, name: string, extras?: LinkExtras): ResourceLink => ({
    type: "resource_link",
    uri,
    name,
    ...extras,
  }),
  resource: (uri: string, text: string, extras?: ResourceExtras): EmbeddedResource => embedded({ uri, text }, extras),
  resourceBlob: (uri: string, blob: Uint8Array, extras?: ResourceExtras): EmbeddedResource =>
    embedded({ uri, blob }, extras),
};

const TYPES = ["text", "image", "audio", "resource_link", "resource"];

export function isContent(value: unknown): value is Content {
  return value !== null && typeof value === "object" && TYPES.includes((value as { type?: unknown }).type as string);
}

/** A string as it may cross: the component boundary takes no lone surrogates. */
export function string(what: string, value: unknown): string {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  throw new TypeError(`${what} has to be a string, not ${describe(value)}`);
}

function optionalString(what: string, value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : string(what, value);
}

function bytes(what: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`${what} has to be a Uint8Array, not ${describe(value)}`);
}

export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return typeof value;
  const name = (value as object).constructor?.name;
  return name && name !== "Object" ? `a ${name}` : "an object";
}

export function toWire(block: Content): WireContent {
  const extras = {
    annotations: block.annotations === undefined ? undefined : stringify(block.annotations),
    meta: block._meta === undefined ? undefined : stringify(block._meta),
  };
  switch (block.type) {
    case "text":
      return { tag: "text", val: { text: string("The text of a text block", block.text), ...extras } };
    case "image":
    case "audio": {
      const data = bytes(`The data of an ${block.type} block`, block.data);
      return { tag: block.type, val: { data, mimeType: string("A mimeType", block.mimeType), ...extras } };
    }
    case "resource_link":
      return {
        tag: "resource-link",
        val: {
          uri: string("The uri of a resource link", block.uri),
          name: string("The name of a resource link", block.name),
          title: optionalString("A title", block.title),
          description: optionalString("A description", block.description),
          mimeType: optionalString("A mimeType", block.mimeType),
          size: block.size,
          ...extras,
        },
      };
    case "resource": {
      const { uri, mimeType, text, blob } = block.resource;
      const body =
        text !== undefined
          ? { tag: "text" as const, val: string("The text of a resource", text) }
          : { tag: "blob" as const, val: bytes("The blob of a resource", blob) };
      return {
        tag: "embedded-resource",
        val: {
          uri: string("The uri of a resource", uri),
          mimeType: optionalString("A mimeType", mimeType),
          body,
          ...extras,
        },
      };
    }
  }
}

function given<T extends object>(fields: T): T {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as T;
}

function extrasOf(val: { annotations?: Option<string>; meta?: Option<string> }): BlockExtras {
  return {
    annotations: val.annotations == null ? undefined : (JSON.parse(val.annotations) as object),
    _meta: val.meta == null ? undefined : (JSON.parse(val.meta) as object),
  };
}

const media = (val: WireMedia) => ({ data: val.data, mimeType: val.mimeType, ...extrasOf(val) });

export function fromWire(block: WireContent): Content {
  switch (block.tag) {
    case "text":
      return given({ type: "text", text: block.val.text, ...extrasOf(block.val) });
    case "image":
      return given({ type: "image", ...media(block.val) });
    case "audio":
      return given({ type: "audio", ...media(block.val) });
    case "resource-link": {
      const { uri, name, title, description, mimeType, size } = block.val;
      return given({
        type: "resource_link",
        uri,
        name,
        title: title ?? undefined,
        description: description ?? undefined,
        mimeType: mimeType ?? undefined,
        size: size ?? undefined,
        ...extrasOf(block.val),
      });
    }
    case "embedded-resource": {
      const { uri, mimeType, body } = block.val;
      const held = body.tag === "text" ? { text: body.val } : { blob: body.val };
      const resource = given({ uri, mimeType: mimeType ?? undefined, ...held }) as EmbeddedResource["resource"];
      return given({ type: "resource", resource, ...extrasOf(block.val) });
    }
  }
}

// TextEncoder and TextDecoder, for UTF-8. A loop over a megabyte takes QuickJS half a second; its own functions, which are
// put together here, take a tenth of that.

const NOT_ASCII = /[^\x00-\x7f]/;

// Strings whose characters are bytes, to bytes and back. Base64 is the one way that is native in both directions.
const native = Uint8Array as unknown as { fromBase64?(text: string): Uint8Array };
const { fromBase64 } = native;
const toBase64 = (Uint8Array.prototype as unknown as { toBase64?(): string }).toBase64;

/** All bytes at once; nothing where the engine has no base64. */
function encodeNatively(text: string): Uint8Array | undefined {
  if (fromBase64 === undefined) return undefined;
  return fromBase64(btoa(NOT_ASCII.test(text) ? unescape(encodeURIComponent(text.toWellFormed())) : text));
}

/** The text of bytes that are well-formed UTF-8; nothing for others. */
function decodeNatively(bytes: Uint8Array): string | undefined {
  if (toBase64 === undefined) return undefined;
  const text = atob(toBase64.call(bytes));
  if (!NOT_ASCII.test(text)) return text;
  try {
    return decodeURIComponent(escape(text));
  } catch {
    return undefined;
  }
}

/** One code point's bytes; a lone surrogate is U+FFFD. */
function put(code: number, bytes: Uint8Array, at: number): number {
  if (code < 0x80) {
    bytes[at++] = code;
  } else if (code < 0x800) {
    bytes[at++] = 0xc0 | (code >> 6);
    bytes[at++] = 0x80 | (code & 0x3f);
  } else if (code < 0x10000) {
    bytes[at++] = 0xe0 | (code >> 12);
    bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
    bytes[at++] = 0x80 | (code & 0x3f);
  } else {
    bytes[at++] = 0xf0 | (code >> 18);
    bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
    bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
    bytes[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

function sizeOf(code: number): number {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

function codeAt(text: string, at: number): number {
  const code = text.codePointAt(at) ?? 0;
  return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

export class TextEncoder {
  readonly encoding = "utf-8";

  encode(input: unknown = ""): Uint8Array {
    const text = String(input);
    const encoded = encodeNatively(text);
    if (encoded !== undefined) return encoded;
    const bytes = new Uint8Array(text.length * 3);
    return bytes.slice(0, this.encodeInto(text, bytes).written);
  }

  encodeInto(text: string, bytes: Uint8Array): { read: number; written: number } {
    const { length } = text;
    let at = 0;
    let written = 0;
    while (at < length) {
      const unit = text.charCodeAt(at);
      if (unit < 0x80) {
        if (written >= bytes.length) break;
        bytes[written++] = unit;
        at += 1;
        continue;
      }
      const code = codeAt(text, at);
      if (written + sizeOf(code) > bytes.length) break;
      written = put(code, bytes, written);
      at += code > 0xffff ? 2 : 1;
    }
    return { read: at, written };
  }
}

const LABELS = new Set(["utf-8", "utf8", "unicode-1-1-utf-8"]);
const CHUNK = 4096;

export class TextDecoder {
  readonly encoding = "utf-8";
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  /** The start of a character whose end has not come yet. */
  #kept: number[] = [];
  #begun = false;

  constructor(label = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    if (!LABELS.has(String(label).trim().toLowerCase())) throw new RangeError(`The encoding ${label} is not supported, only utf-8`);
    this.fatal = options.fatal ?? false;
    this.ignoreBOM = options.ignoreBOM ?? false;
  }

  decode(input?: ArrayBuffer | ArrayBufferView, options: { stream?: boolean } = {}): string {
    const given =
      input === undefined
        ? new Uint8Array()
        : ArrayBuffer.isView(input)
          ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
          : new Uint8Array(input);
    let bytes = given;
    if (this.#kept.length > 0) {
      bytes = new Uint8Array(this.#kept.length + given.length);
      bytes.set(this.#kept);
      bytes.set(given, this.#kept.length);
      this.#kept = [];
    }
    let text = this.#decode(bytes, options.stream ?? false);
    if (!this.#begun && text.length > 0) {
      this.#begun = true;
      if (!this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (!options.stream) this.#begun = false;
    return text;
  }

  #decode(bytes: Uint8Array, stream: boolean): string {
    const whole = decodeNatively(bytes);
    if (whole !== undefined) return whole;
    const { length } = bytes;
    let text = "";
    let units: number[] = [];
    const push = (unit: number) => {
      units.push(unit);
      if (units.length >= CHUNK) {
        text += String.fromCharCode(...units);
        units = [];
      }
    };
    for (let at = 0; at < length; ) {
      const first = bytes[at] as number;
      if (first < 0x80) {
        push(first);
        at += 1;
        continue;
      }
      const size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
      let code = first & (0x7f >> size);
      let taken = 1;
      // The second byte has bounds of its own: no overlong forms, no surrogates, nothing beyond U+10FFFF.
      let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
      let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
      while (taken < size && at + taken < length) {
        const next = bytes[at + taken] as number;
        if (next < low || next > high) break;
        code = (code << 6) | (next & 0x3f);
        taken += 1;
        low = 0x80;
        high = 0xbf;
      }
      if (size > 0 && taken === size) {
        if (code > 0xffff) {
          push(0xd800 + ((code - 0x10000) >> 10));
          push(0xdc00 + ((code - 0x10000) & 0x3ff));
        } else {
          push(code);
        }
      } else if (stream && size > 0 && at + taken === length) {
        this.#kept = [...bytes.subarray(at)];
        break;
      } else if (this.fatal) {
        throw new TypeError("The encoded data was not valid utf-8");
      } else {
        push(0xfffd);
      }
      at += taken;
    }
    return text + String.fromCharCode(...units);
  }
}

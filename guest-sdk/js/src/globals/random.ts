// Random numbers of the running instance. QuickJS seeds Math.random once, when the component is built: every call would
// see the same numbers.

const POOL = 256;
let pool: Uint8Array = new Uint8Array();
let used = 0;
const native = Math.random;
// While the component is built there is nothing better, and nothing is kept of it.
let source = (length: number): Uint8Array => Uint8Array.from({ length }, () => native() * 256);

/** Where bytes come from: wasi:random. */
export function useRandom(bytes: (length: number) => Uint8Array): void {
  source = bytes;
}

/** Forgets bytes that an earlier instance, the one that was snapshotted, had drawn. */
export function resetRandom(): void {
  pool = new Uint8Array();
  used = 0;
}

function take(length: number): Uint8Array {
  if (length > POOL) return source(length);
  if (used + length > pool.length) {
    pool = source(POOL);
    used = 0;
  }
  used += length;
  return pool.subarray(used - length, used);
}

export function random(): number {
  const bytes = take(7);
  // 53 bits.
  let value = (bytes[0] as number) & 0x1f;
  for (let at = 1; at < 7; at += 1) value = value * 256 + (bytes[at] as number);
  return value / 2 ** 53;
}

export const crypto = {
  getRandomValues<T extends ArrayBufferView>(array: T): T {
    if (!ArrayBuffer.isView(array) || array instanceof Float32Array || array instanceof Float64Array || array instanceof DataView) {
      throw new DOMException("getRandomValues takes an array of integers", "TypeMismatchError");
    }
    if (array.byteLength > 65536) throw new DOMException("At most 65536 bytes at a time", "QuotaExceededError");
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(take(array.byteLength));
    return array;
  },

  randomUUID(): string {
    const bytes = take(16).slice();
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  },
};

// StarlingMonkey and Node: engines that have the web's globals and drive their promises themselves.

import { backend } from "../backend.js";
import { setEngine } from "../engine.js";
import { wholeMs } from "../host.js";

let controller: AbortController | undefined;

// With a reason: StarlingMonkey's abort() insists on one.
const abort = () => controller?.abort(new DOMException("This operation was aborted", "AbortError"));

function check(): boolean {
  if (!backend.cancellation.isCancelled()) return false;
  abort();
  return true;
}

setEngine({
  async run(entry) {
    controller = undefined;
    return await entry();
  },

  // The host's own wait, which ends at once when cancelled; the call's other promises stand still meanwhile.
  async wait(ms) {
    const cancelled = backend.cancellation.wait(wholeMs(ms));
    if (cancelled) abort();
    return cancelled;
  },

  signal() {
    if (controller === undefined) {
      controller = new AbortController();
      const { signal } = controller;
      const aborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")?.get;
      // Nobody announces a cancellation: whoever looks asks the host.
      Object.defineProperties(signal, {
        aborted: { get: () => (aborted?.call(signal) as boolean) || check() },
        throwIfAborted: {
          value: () => {
            if (signal.aborted) throw signal.reason;
          },
        },
      });
    }
    return controller.signal;
  },
});

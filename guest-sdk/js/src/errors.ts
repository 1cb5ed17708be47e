// What a tool throws, and what anything thrown says to a model.

/**
 * Why a tool call failed. The message is for the model: say what happened and what to do differently. Any other thrown
 * `Error` does the same; this class only says that the failure was foreseen, and knows `cancelled`.
 */
export class ToolError extends Error {
  readonly isCancelled: boolean;

  constructor(message: string, options?: ErrorOptions & { cancelled?: boolean }) {
    super(message, options);
    this.name = "ToolError";
    this.isCancelled = options?.cancelled ?? false;
  }

  /** The tool saw that the batch is cancelled, and stopped. */
  static cancelled(): ToolError {
    return new ToolError("Operation aborted", { cancelled: true });
  }
}

/** The text of whatever was thrown, with the causes that it does not quote itself. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) {
    return [thrown.message, ...thrown.errors.map(messageOf)].filter(Boolean).join("\n");
  }
  if (thrown instanceof Error) {
    let text = thrown.message || thrown.name;
    const seen = new Set<unknown>([thrown]);
    for (let cause = thrown.cause; cause !== undefined && !seen.has(cause); ) {
      seen.add(cause);
      const message = cause instanceof Error ? cause.message : messageOf(cause);
      if (!text.includes(message)) text += `: ${message}`;
      cause = cause instanceof Error ? cause.cause : undefined;
    }
    return text;
  }
  if (typeof thrown === "string") return thrown;
  if (thrown !== null && typeof thrown === "object") {
    const message = (thrown as { message?: unknown }).message;
    if (typeof message === "string" && message !== "") return message;
    try {
      return `${JSON.stringify(thrown)} was thrown`;
    } catch {
      return "An object that is no Error was thrown";
    }
  }
  return `${String(thrown)} was thrown`;
}

/** Whether it is the error by which an aborted operation ends. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error
    ? thrown.name === "AbortError"
    : typeof DOMException === "function" && thrown instanceof DOMException && thrown.name === "AbortError";
}

type Id = string | number;
export type Json = Record<string, any>;
/** Answers a request of the server's: its result, or an exception. The signal says that the answer is not needed. */
export type Handler = (params: Json, signal: AbortSignal) => Promise<unknown>;
/** A partial result of a tool of the client's. */
export type Update = (partialResult: Json) => void;
export interface Options {
    approve?: Handler;
    beforeToolCall?: Handler;
    afterToolCall?: Handler;
    execute?: (params: Json, signal: AbortSignal, update: Update) => Promise<unknown>;
    onLog?: (line: Json) => void;
    onToolsChanged?: () => void;
    steps?: boolean;
    cwd?: string;
    env?: NodeJS.ProcessEnv;
}
export interface RunOptions {
    /** Gets the params of `event` and `step`. */
    onEvent?: (params: Json) => void;
    /** Cancels the batch; its results still come. */
    signal?: AbortSignal;
    mode?: "parallel" | "sequential";
    turn?: string;
    conversation?: string;
    active?: {
        only?: string[];
        added?: string[];
    };
    earlier?: Json[];
}
export interface Ran {
    messages: Json[];
    terminate: boolean;
    eventsLost?: boolean;
}
/** A request was refused, or the process is gone. */
export declare class ToolgateError extends Error {
    readonly code?: number | undefined;
    readonly data?: unknown | undefined;
    constructor(message: string, code?: number | undefined, data?: unknown | undefined);
}
export declare class Toolgate {
    #private;
    private process;
    private options;
    /** What the server said of itself. */
    server: Json;
    private constructor();
    static start(command: string[], options?: Options): Promise<Toolgate>;
    request(method: string, params?: Json, id?: Id): Promise<any>;
    /** Runs the calls of an assistant message. */
    run(message: unknown, { onEvent, signal, ...options }?: RunOptions): Promise<Ran>;
    tools(): Promise<Json[]>;
    /** Ends the input; resolves when the process has ended, which it does when its batches are over. */
    close(): Promise<void>;
}
export {};

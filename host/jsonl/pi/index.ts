/**
 * Toolgate for a pi agent: its tools, and the hooks around all tools, from one `toolgate serve jsonl`.
 *
 *     const toolgate = await ToolgatePi.start(["toolgate", "serve", "jsonl"], { tools: [bashTool] });
 *     const agent = new Agent({ streamFn, initialState: { model } });
 *     toolgate.attach(agent);
 *
 * One assistant message of pi's is one batch of Toolgate's. pi's loop asks for each call in turn whether it may run
 * (`beforeToolCall`) and then executes; Toolgate's pipeline goes in step with it: a call is let into the batch's before
 * hooks when pi has come to it, pi is told when the call is prepared, and what pi executes is a wait for its end. Tools of
 * pi's own are offered to Toolgate and run when the pipeline calls them, so that its hooks and limits on order hold for
 * them too. README.md says where pi's interface does not reach.
 */
import type {
  AfterToolCallContext, AfterToolCallResult, Agent, AgentTool, AgentToolResult, BeforeToolCallContext,
  BeforeToolCallResult,
} from "@earendil-works/pi-agent-core";
import { validateToolArguments } from "@earendil-works/pi-ai";
import { type Json, type Options, Toolgate } from "@toolgate/jsonl";

export interface PiOptions {
  /** pi's own tools, to run inside Toolgate's pipeline. */
  tools?: AgentTool<any>[];
  /** A hook of the agent's, called after Toolgate's before hooks. It sees the arguments that would run, and may change them in place. */
  beforeToolCall?: (context: BeforeToolCallContext, signal?: AbortSignal) => Promise<BeforeToolCallResult | undefined>;
  /** A hook of the agent's, called after Toolgate's after hooks. */
  afterToolCall?: (context: AfterToolCallContext, signal?: AbortSignal) => Promise<AfterToolCallResult | undefined>;
  /** Answers hooks that ask. Without it they are declined. */
  approve?: Options["approve"];
  onLog?: Options["onLog"];
  /** Called when the tools of Toolgate's have changed, by a reload or by a result that added some. */
  onToolsChanged?: (tools: AgentTool<any>[]) => void;
  /** The conversation, for what plugins count. Default: one of this adapter's own. */
  conversation?: string;
  /** pi's mode; where the adapter is attached to an agent, the agent's is taken. */
  toolExecution?: "parallel" | "sequential";
  /** How long Toolgate waits for pi to come to a call. Default ten minutes: a listener of pi's may be a person. */
  hookTimeoutMs?: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** A value that comes later; nobody need wait for it. */
class Later<T> {
  resolve!: (value: T) => void;
  reject!: (error: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => Object.assign(this, { resolve, reject }));
  constructor() {
    this.promise.catch(() => {});
  }
}

/** One call of a batch. */
class Call {
  /** pi has come to it. */
  readonly reached = new Later<BeforeToolCallContext>();
  /** Undefined where it may run, else why not. */
  readonly prepared = new Later<BeforeToolCallResult | undefined>();
  readonly ended = new Later<Json>();
  #updates: AgentToolResult<any>[] = [];
  #onUpdate?: (partial: AgentToolResult<any>) => void;
  context?: BeforeToolCallContext;

  constructor(readonly block: Json, readonly position: number) {}

  update(partial: AgentToolResult<any>) {
    if (this.#onUpdate) this.#onUpdate(partial);
    else this.#updates.push(partial);
  }

  listen(onUpdate?: (partial: AgentToolResult<any>) => void) {
    this.#onUpdate = onUpdate ?? (() => {});
    for (const partial of this.#updates.splice(0)) this.#onUpdate(partial);
  }

  fail(error: unknown) {
    for (const later of [this.reached, this.prepared, this.ended]) later.reject(error);
  }
}

export class ToolgatePi {
  #toolgate!: Toolgate;
  #listed: Json[] = [];
  #added = new Set<string>();
  /** By the assistant message, and by the batch's name. */
  #byMessage = new WeakMap<object, Call[]>();
  #batches = new Map<string, Call[]>();
  /** By the arguments that pi passes to its hook and then to the tool, the same object: ids need not be unique. */
  #byArguments = new WeakMap<object, Call>();
  #next = 0;
  #mode: () => "parallel" | "sequential";
  #conversation: string;

  private constructor(private options: PiOptions) {
    this.#mode = () => options.toolExecution ?? "parallel";
    this.#conversation = options.conversation ?? `pi-${crypto.randomUUID()}`;
  }

  /** Starts Toolgate, by a command like `["toolgate", "serve", "jsonl", "--config", "toolgate.toml"]`. */
  static async start(command: string[], options: PiOptions = {}): Promise<ToolgatePi> {
    const pi = new ToolgatePi(options);
    const { approve, onLog, cwd, env } = options;
    pi.#toolgate = await Toolgate.start(command, {
      approve, onLog, cwd, env, steps: true,
      onToolsChanged: () => void pi.#refresh().then(() => options.onToolsChanged?.(pi.tools()), () => {}),
      beforeToolCall: (params, signal) => pi.#before(params, signal),
      afterToolCall: (params, signal) => pi.#after(params, signal),
      execute: (params, signal, update) => pi.#executeOwn(params, signal, update),
    });
    try {
      const hooks = ["before-tool-call", ...(options.afterToolCall ? ["after-tool-call"] : [])];
      const tools = (options.tools ?? []).map(definition);
      const hookTimeoutMs = options.hookTimeoutMs ?? 600_000;
      await pi.#toolgate.request("offer", { name: "pi", tools, hooks, hookTimeoutMs });
      await pi.#refresh();
    } catch (error) {
      await pi.close();
      throw error;
    }
    return pi;
  }

  /** The active tools, for pi: Toolgate's, and pi's own in Toolgate's hands. */
  tools(): AgentTool<any>[] {
    const own = new Map((this.options.tools ?? []).map((tool) => [tool.name, tool]));
    return this.#listed.filter(({ name, active }) => active || this.#added.has(name)).map((listed) => {
      const tool: AgentTool<any> = {
        name: listed.name,
        label: listed.label ?? listed.name,
        description: listed.description,
        parameters: listed.parameters,
        ...(listed.executionMode && { executionMode: listed.executionMode }),
        ...own.get(listed.name),
        execute: (_id, params, _signal, onUpdate) => this.#execute(params as object, onUpdate),
      };
      return tool;
    });
  }

  /** The hooks, for `AgentOptions` or an `AgentLoopConfig`. */
  hooks() {
    return {
      beforeToolCall: (context: BeforeToolCallContext, signal?: AbortSignal) => this.#beforeToolCall(context, signal),
      afterToolCall: (context: AfterToolCallContext) => this.#afterToolCall(context),
    };
  }

  /** Gives an agent its tools and hooks, also those tools that a result adds later. */
  attach(agent: Agent) {
    Object.assign(agent, this.hooks());
    this.#mode = () => agent.toolExecution;
    agent.state.tools = this.tools();
    const changed = this.options.onToolsChanged;
    this.options.onToolsChanged = (tools) => {
      agent.state.tools = tools;
      changed?.(tools);
    };
    const { prepareNextTurnWithContext } = agent;
    // A run under way has tools of its own.
    agent.prepareNextTurnWithContext = async (turn, signal) => {
      const update = await prepareNextTurnWithContext?.call(agent, turn, signal);
      const context = update?.context ?? turn.context;
      return { ...update, context: { ...context, tools: agent.state.tools } };
    };
  }

  /** Ends Toolgate when its batches are over. */
  close(): Promise<void> {
    return this.#toolgate.close();
  }

  /** Ends Toolgate at once; calls in flight fail. */
  kill() {
    this.#toolgate.kill();
  }

  async #refresh() {
    this.#listed = await this.#toolgate.tools();
  }

  // What pi asks.

  async #beforeToolCall(context: BeforeToolCallContext, signal?: AbortSignal) {
    let calls = this.#byMessage.get(context.assistantMessage);
    if (!calls) {
      calls = this.#begin(context, signal);
      this.#byMessage.set(context.assistantMessage, calls);
    }
    const call = calls.find(({ block }) => block === context.toolCall);
    if (!call) return { block: true, reason: "Toolgate does not know this call" };
    call.context = context;
    this.#byArguments.set(context.args as object, call);
    call.reached.resolve(context);
    return call.prepared.promise;
  }

  async #afterToolCall({ assistantMessage, toolCall }: AfterToolCallContext): Promise<AfterToolCallResult | undefined> {
    const call = this.#byMessage.get(assistantMessage)?.find(({ block }) => block === toolCall);
    // Older releases of pi read `isError` nowhere else.
    return call && { isError: (await call.ended.promise).isError };
  }

  async #execute(args: object, onUpdate?: (partial: AgentToolResult<any>) => void): Promise<AgentToolResult<any>> {
    const call = this.#byArguments.get(args);
    if (!call) throw new Error("Toolgate was not asked about this call: its hooks are not in this agent");
    call.listen(onUpdate);
    return toPi((await call.ended.promise).result);
  }

  // What Toolgate asks.

  async #before({ batch, position, arguments: args }: Json, signal: AbortSignal): Promise<Json> {
    const reached = this.#call(batch, position).reached.promise;
    const context = await Promise.race([reached, aborted(signal)]);
    const before = this.options.beforeToolCall;
    if (!before) return { decision: "allow" };
    const seen = JSON.stringify(args);
    const decided = await before({ ...context, args }, signal);
    if (decided?.block) {
      const { reason, terminate } = decided;
      return { decision: "block", ...(reason && { reason }), ...(terminate && { terminate }) };
    }
    return JSON.stringify(args) === seen ? { decision: "allow" } : { decision: "replace", arguments: args };
  }

  async #after({ batch, position, arguments: args, result, isError }: Json, signal: AbortSignal): Promise<Json> {
    const { context } = this.#call(batch, position);
    const changed = await this.options.afterToolCall!({ ...context!, args, result: toPi(result), isError }, signal);
    const { content, details, structuredContent, usage, isError: failed, terminate } = (changed ?? {}) as Json;
    return { content, details, structuredContent, usage, isError: failed, terminate };
  }

  async #executeOwn({ toolCall, arguments: args }: Json, signal: AbortSignal, update: (partial: Json) => void) {
    const tool = this.options.tools?.find(({ name }) => name === toolCall.name);
    if (!tool) throw new Error(`Tool ${toolCall.name} not found`);
    const result = await tool.execute(toolCall.id, args, signal, update);
    return { ...result, content: result.content ?? [] };
  }

  // A batch.

  #begin({ assistantMessage, context }: BeforeToolCallContext, signal?: AbortSignal): Call[] {
    const named = (name: string) => context.tools?.find((tool) => tool.name === name);
    const blocks = assistantMessage.content.filter((block) => block.type === "toolCall");
    // What pi itself refuses never comes to its hooks, and must not run here either.
    const accepted = new Map<object, unknown>();
    for (const block of blocks) {
      const tool = named(block.name);
      try {
        if (!tool) continue;
        const args = tool.prepareArguments ? tool.prepareArguments(block.arguments) : block.arguments;
        validateToolArguments(tool, { ...block, arguments: args as Json });
        accepted.set(block, { type: "toolCall", id: block.id, name: block.name, arguments: args });
      } catch {}
    }
    const calls = blocks.filter((block) => accepted.has(block)).map((block, position) => new Call(block, position));
    // Read as pi reads it: it counts those that it refuses.
    const sequential = this.#mode() === "sequential" ||
      blocks.some((block) => named(block.name)?.executionMode === "sequential");
    const content = assistantMessage.content.flatMap((block): unknown[] =>
      block.type !== "toolCall" ? [block] : accepted.has(block) ? [accepted.get(block)] : []);
    const id = `pi-${this.#next++}`;
    this.#batches.set(id, calls);
    const running = this.#toolgate.run({ ...assistantMessage, stopReason: "toolUse", content }, {
      id,
      signal,
      mode: sequential ? "sequential" : "parallel",
      conversation: this.#conversation,
      active: { added: [...this.#added] },
      onEvent: (params) => this.#event(calls, params as Json),
    });
    const over = (error: unknown) => {
      this.#batches.delete(id);
      for (const call of calls) call.fail(error);
    };
    running.then(({ eventsLost }) => over(new Error(eventsLost ? "Toolgate's events were read too slowly" : "over")), over);
    return calls;
  }

  #event(calls: Call[], { position, step, event }: Json) {
    const call = calls[position];
    if (step === "prepared") call?.prepared.resolve(undefined);
    switch (event?.type) {
      case "tool_execution_update":
        call?.update(toPi(event.partialResult));
        break;
      case "tool_execution_end": {
        const { result } = event;
        // Only the first of the two has an effect: a call that was prepared is not refused by its end.
        const reason = result.content.map((block: Json) => block.text ?? "").join("\n");
        call?.prepared.resolve({ block: true, reason, ...(result.terminate && { terminate: true }) });
        call?.ended.resolve(event);
        const added = (result.addedToolNames ?? []).filter((name: string) => !this.#added.has(name));
        if (added.length > 0) {
          for (const name of added) this.#added.add(name);
          this.options.onToolsChanged?.(this.tools());
        }
      }
    }
  }

  #call(batch: string, position: number): Call {
    const call = this.#batches.get(batch)?.[position];
    if (!call) throw new Error("pi does not know this call");
    return call;
  }
}

/** Rejects when Toolgate does not wait any more. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("Operation aborted"))));
}

function definition({ name, label, description, parameters, executionMode }: AgentTool<any>): Json {
  return { name, label, description, parameters, executionMode };
}

/** A result with the two kinds of content that pi knows; what else there is becomes text. */
function toPi(result: Json): AgentToolResult<any> {
  const content = result.content.map((block: Json) => {
    if (block.type === "text" || block.type === "image") return block;
    return { type: "text", text: words(block) };
  });
  return { ...result, content } as AgentToolResult<any>;
}

function words({ type, mimeType, data, name, uri, description, resource }: Json): string {
  switch (type) {
    case "audio":
      return `[audio, ${mimeType}, ${Math.floor((data.length * 3) / 4)} bytes]`;
    case "resource_link":
      return `[${name}](${uri})${description ? `: ${description}` : ""}`;
    case "resource":
      return resource.text ?? `[${resource.uri}, ${resource.mimeType ?? "binary"}]`;
    default:
      return `[${type}]`;
  }
}

// The benchmark's echo in JavaScript, for both engines.
import { defineTool } from "@toolgate/sdk";

const tool = (name, execute) => defineTool({ name, description: "For the benchmark.", parameters: { type: "object" }, execute });

export const tools = [
  tool("echo", (_args, cx) => cx.call.arguments),
  tool("wait", async ({ n }, cx) => {
    await cx.wait(n);
    return "waited";
  }),
];

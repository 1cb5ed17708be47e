// Where the SDK's own modules lie. A bundle holds each once, however the plugin came by the SDK.

import { realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const SDK = realpathSync(fileURLToPath(new URL("..", import.meta.url)));

export const alias = {
  "@toolgate/sdk/testing": path.join(SDK, "src/testing.ts"),
  "@toolgate/sdk": path.join(SDK, "src/index.ts"),
};

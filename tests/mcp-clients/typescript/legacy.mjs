// The TypeScript SDK as most hosts have it, before revision 2026-07-28: node legacy.mjs URL|PATH-OF-TOOLGATE
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { check, common, done } from './checks.mjs';

const target = process.argv[2];
const transport = target.startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args: ['serve', 'mcp'] });

const answer = {};
let changes = 0;
const client = new Client({ name: 'toolgate-test', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, request => {
  answer.asked = request.params.message;
  return { action: 'accept', content: { approve: answer.approve } };
});
client.setNotificationHandler(ToolListChangedNotificationSchema, () => { changes += 1; });
await client.connect(transport);
await check('the server says who it is', () => {
  assert.equal(client.getServerVersion().name, 'toolgate');
  assert.deepEqual(client.getServerCapabilities().tools, { listChanged: true });
});
await check('it is alive', () => client.ping());
// Its second parameter is a schema.
const calls = {
  listTools: () => client.listTools(),
  callTool: (params, options) => client.callTool(params, undefined, options),
};
await common(calls, { answer, changed: () => changes });
await check('what was added can be called', async () => {
  const found = await client.callTool({ name: 'hidden', arguments: {} });
  assert.equal(found.content[0].text, 'found');
});
await client.close();
done();

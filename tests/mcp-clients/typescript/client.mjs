// The TypeScript SDK, revision 2026-07-28 and the handshake: node client.mjs URL|PATH-OF-TOOLGATE
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { check, common, done, until } from './checks.mjs';

const target = process.argv[2];
const isHttp = target.startsWith('http');
const transport = () =>
  isHttp ? new StreamableHTTPClientTransport(new URL(target)) : new StdioClientTransport({ command: target, args: ['serve', 'mcp'] });

for (const [mode, version] of [['legacy', '2025-11-25'], ['auto', '2026-07-28']]) {
  const answer = {};
  let changes = 0;
  const client = new Client(
    { name: 'toolgate-test', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode },
      listChanged: { tools: { onChanged: () => { changes += 1; } } },
    },
  );
  client.setRequestHandler('elicitation/create', request => {
    answer.asked = request.params.message;
    return { action: 'accept', content: { approve: answer.approve } };
  });
  await client.connect(transport());
  await check(`${mode}: the revision`, () => {
    assert.equal(client.getNegotiatedProtocolVersion(), version);
  });
  // Over HTTP without sessions a connection is a conversation, and fetch keeps several.
  const isOneConversation = !isHttp || mode === 'legacy';
  await common(client, { answer, changed: isOneConversation ? () => changes : undefined });
  if (isOneConversation) {
    await check(`${mode}: what was added can be called`, async () => {
      const found = await client.callTool({ name: 'hidden', arguments: {} });
      assert.equal(found.content[0].text, 'found');
    });
  }
  if (mode === 'legacy') {
    await check('log lines come from the level that was set on', async () => {
      const lines = [];
      client.setNotificationHandler('notifications/message', message => { lines.push(message.params); });
      await client.callTool({ name: 'test_tool_with_logging', arguments: {} });
      await until('three log lines', () => lines.length === 3);
      assert.deepEqual(lines.map(line => line.level), ['info', 'info', 'info']);
      await client.setLoggingLevel('error');
      await client.callTool({ name: 'test_tool_with_logging', arguments: {} });
      assert.equal(lines.length, 3);
    });
  }
  await client.close();
}
done();

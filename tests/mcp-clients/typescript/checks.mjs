// What any MCP client must find at `toolgate serve mcp`, whatever its version.
import assert from 'node:assert/strict';

let passed = 0;

/** Runs one check under its name. */
export async function check(name, body) {
  try {
    await body();
  } catch (error) {
    console.error(`FAILED: ${name}`);
    throw error;
  }
  passed += 1;
}

/** Says that all checks passed, and ends. */
export function done() {
  console.log(`${passed} checks passed`);
  process.exit(0);
}

/** Resolves once `seen` is true, and fails where that takes too long. */
export async function until(what, seen) {
  for (let waited = 0; !seen(); waited += 20) {
    if (waited > 20_000) throw new Error(`${what} did not come`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** `answer` is what the user says to a question; `changed` tells how often the list changed. */
export async function common(client, { answer, changed }) {
  const text = result => result.content[0].text;
  const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, options);

  await check('tools are listed', async () => {
    const { tools } = await client.listTools();
    const names = tools.map(tool => tool.name);
    assert.deepEqual(names, [...names].sort());
    assert.ok(names.includes('weigh') && !names.includes('hidden'));
    const tool = tools.find(tool => tool.name === 'all_blocks');
    assert.equal(tool.title, 'All blocks');
    assert.equal(tool.annotations.readOnlyHint, true);
  });
  await check('data comes with its schema', async () => {
    // The client itself checks it against the output schema.
    const result = await call('weigh', { grams: 1.5 });
    assert.deepEqual(result.structuredContent, { grams: 1.5 });
  });
  await check('a failure is a result', async () => {
    const failed = await call('test_error_handling');
    assert.equal(failed.isError, true);
    const invalid = await call('weigh', { grams: 'heavy' });
    assert.equal(invalid.isError, true);
    assert.match(text(invalid), /Validation failed for tool "weigh"/);
    const blocked = await call('env', { name: 'HOME' });
    assert.equal(blocked.isError, true);
    assert.match(text(blocked), /private/);
    assert.equal((await call('broken_output')).isError, true);
  });
  await check('an unknown tool is a protocol error', async () => {
    for (const name of ['nothing', 'hidden']) {
      await assert.rejects(call(name), error => error.code === -32602);
    }
  });
  await check('all five kinds of content arrive', async () => {
    const { content } = await call('all_blocks');
    assert.deepEqual(content.map(block => block.type), ['text', 'image', 'audio', 'resource_link', 'resource']);
  });
  await check('progress increases', async () => {
    const seen = [];
    await call('test_tool_with_progress', {}, { onprogress: ({ progress, total }) => seen.push([progress, total]) });
    assert.deepEqual(seen, [[0, 100], [50, 100], [100, 100]]);
  });
  await check('a call is cancelled', async () => {
    const controller = new AbortController();
    const running = call('wait-cancel', { ms: 60_000 }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    await assert.rejects(running);
    assert.equal(text(await call('hidden').catch(() => ({ content: [{ text: 'still served' }] }))), 'still served');
  });
  await check('a question is put to the user', async () => {
    answer.approve = true;
    assert.match(text(await call('now')), /^\d+$/);
    assert.match(answer.asked, /It tells the time/);
    answer.approve = false;
    const declined = await call('now');
    assert.equal(declined.isError, true);
    assert.match(text(declined), /Tool execution was declined/);
  });
  await check('a tool that a result adds is there', async () => {
    assert.equal(text(await call('unlock')), 'unlocked');
    if (changed) await until('list_changed', () => changed() > 0);
  });
}

"""The Python SDK, revision 2026-07-28 and the handshake: client.py URL|PATH-OF-TOOLGATE"""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters, types

passed = 0


def check(name, holds, *seen):
    global passed
    if not holds:
        raise AssertionError(f"{name}: {seen}")
    passed += 1


async def main(target, mode, version):
    answer = {"approve": True}
    lines = []

    async def ask(context, params):
        answer["asked"] = params.message
        return types.ElicitResult(action="accept", content={"approve": answer["approve"]})

    async def log(params):
        lines.append(params)

    server = target
    if not target.startswith("http"):
        server = StdioServerParameters(command=target, args=["serve", "mcp"])
    client = Client(server, mode=mode, elicitation_callback=ask, logging_callback=log, log_level="info")
    async with client:
        check("the revision", client.protocol_version == version, client.protocol_version)
        listed = await client.list_tools()
        names = [tool.name for tool in listed.tools]
        check("tools are listed", names == sorted(names) and "weigh" in names and "hidden" not in names, names)

        result = await client.call_tool("weigh", {"grams": 1.5})
        check("data comes with its schema", result.structured_content == {"grams": 1.5}, result)
        for tool, arguments, says in [
            ("test_error_handling", {}, "intentionally returns an error"),
            ("weigh", {"grams": "heavy"}, "Validation failed"),
            ("env", {"name": "HOME"}, "private"),
        ]:
            result = await client.call_tool(tool, arguments)
            check("a failure is a result", result.is_error and says in result.content[0].text, result)
        try:
            await client.call_tool("nothing", {})
            check("an unknown tool is a protocol error", False)
        except MCPError as error:
            check("an unknown tool is a protocol error", error.code == -32602, error)

        result = await client.call_tool("all_blocks", {})
        kinds = [block.type for block in result.content]
        check("all five kinds of content", kinds == ["text", "image", "audio", "resource_link", "resource"], kinds)

        seen = []

        async def progress(value, total, message):
            seen.append((value, total))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=progress)
        check("progress increases", seen == [(0, 100), (50, 100), (100, 100)], seen)

        await client.call_tool("test_tool_with_logging", {})
        for _ in range(200):
            if len(lines) >= 3:
                break
            await asyncio.sleep(0.02)
        check("log lines", [line.level for line in lines] == ["info"] * 3, lines)

        result = await client.call_tool("now", {})
        check("a question is put to the user", result.content[0].text.isdigit(), result)
        check("it says what is asked", "It tells the time" in answer["asked"], answer)
        answer["approve"] = False
        result = await client.call_tool("now", {})
        check("a no counts", result.is_error and "declined" in result.content[0].text, result)

        try:
            await asyncio.wait_for(client.call_tool("wait-cancel", {"ms": 60000}), 0.5)
            check("a call is cancelled", False)
        except asyncio.TimeoutError:
            pass
        result = await client.call_tool("weigh", {"grams": 2})
        check("the server goes on", result.structured_content == {"grams": 2}, result)


for mode, version in [("legacy", "2025-11-25"), ("auto", "2026-07-28")]:
    asyncio.run(main(sys.argv[1], mode, version))
print(f"{passed} checks passed")

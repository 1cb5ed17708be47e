"""What the client promises, against a real server: python3 check.py COMMAND [ARGUMENT...]"""

import asyncio
import sys

from toolgate import Toolgate, ToolgateError

COMMAND = sys.argv[1:]


def call(id, name, **arguments):
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def text(message):
    return message["content"][0]["text"]


async def main():
    questions, logs, events = [], [], []

    async def approve(params):
        questions.append(params["questions"][0]["title"])
        return {"approved": params["toolCall"]["id"] == "yes"}

    async def execute(params):
        await toolgate.update(params["request"], {"content": [{"type": "text", "text": "half"}]})
        if params["arguments"]["n"] == 13:
            raise ValueError("unlucky")
        return {"content": [{"type": "text", "text": str(params["arguments"]["n"] * 2)}]}

    async def before(params):
        if params["toolCall"]["id"] == "blocked":
            return {"decision": "block", "reason": "not today"}
        return {"decision": "allow"}

    async with Toolgate(COMMAND, approve=approve, execute=execute, before_tool_call=before,
                        on_log=logs.append, steps=True) as toolgate:
        assert toolgate.server["protocol"] == 1
        assert "calc" in [tool["name"] for tool in await toolgate.tools()]

        # Two batches at the same time, digits kept.
        first, second = await asyncio.gather(
            toolgate.run([call("a", "calc", expression="6*7"), call("b", "nothing")], on_event=events.append),
            toolgate.run([call("a", "echo", n=9007199254740993)], turn="t", conversation="k"))
        assert [text(message) for message in first["messages"]] == ["42", "Tool nothing not found"], first
        assert second["messages"][0]["structuredContent"]["n"] == 9007199254740993, second
        types = [params["event"]["type"] for params in events if "event" in params]
        assert types[:3] == ["tool_execution_start", "tool_execution_start", "tool_execution_end"], types
        assert [params["step"] for params in events if "step" in params] == ["hook", "prepared", "executing", "executed"]
        await toolgate.request("end_turn", turn="t", conversation="k")
        await toolgate.request("end_conversation", conversation="k")

        # A question, log lines, and tools and a hook of the client's own.
        ran = await toolgate.run([call("yes", "now"), call("no", "now"), call("p", "flood-logs", n=2)])
        assert [message["isError"] for message in ran["messages"]] == [False, True, False], ran
        assert len(questions) == 2 and len(logs) == 2, (questions, logs)
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        double = {"name": "double", "description": "Twice", "parameters": schema}
        await toolgate.request("offer", name="mine", tools=[double], hooks=["before-tool-call"])
        ran = await toolgate.run([call("a", "double", n="4"), call("b", "double", n=13), call("blocked", "calc", expression="1")])
        assert [text(message) for message in ran["messages"]] == ["8", "unlucky", "not today"], ran

        # Cancelled, a batch still ends.
        running = asyncio.create_task(toolgate.run([call("a", "sleep", ms=60000)]))
        await asyncio.sleep(0.2)
        running.cancel()
        try:
            await running
            raise AssertionError("not cancelled")
        except asyncio.CancelledError:
            pass
        try:
            await toolgate.request("run", message=7)
            raise AssertionError("not refused")
        except ToolgateError as error:
            assert error.code == -32602, error
    assert toolgate.process.returncode == 0, toolgate.process.returncode


asyncio.run(asyncio.wait_for(main(), 60))
print("ok")

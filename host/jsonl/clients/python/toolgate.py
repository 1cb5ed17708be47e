"""A client of `toolgate serve jsonl` for asyncio. Standard library only; copy it into your project.

    async with Toolgate(["toolgate", "serve", "jsonl"], approve=ask_the_user) as toolgate:
        ran = await toolgate.run(assistant_message, on_event=print)
        transcript += ran["messages"]

Methods and parameters are those of docs/jsonl.md, which says what they mean.
"""

import asyncio
import itertools
import json

PROTOCOL = 1
LINE_BYTES = 256 << 20


class ToolgateError(Exception):
    """A request was refused, or the process is gone."""

    def __init__(self, message, code=None, data=None):
        super().__init__(message)
        self.code, self.data = code, data


class Toolgate:
    def __init__(self, command, *, approve=None, before_tool_call=None, after_tool_call=None, execute=None,
                 on_log=None, on_tools_changed=None, steps=False, cwd=None):
        """The first four answer the server's requests: async functions from params to the result."""
        self.command, self.cwd = command, cwd
        self.handlers = {name: handler for name, handler in [
            ("approve", approve), ("before_tool_call", before_tool_call), ("after_tool_call", after_tool_call),
            ("execute", execute)] if handler}
        self.notices = {"log": on_log, "tools_changed": on_tools_changed}
        self.steps = steps
        self.ids, self.waiting, self.watching, self.answering = itertools.count(1), {}, {}, {}

    async def __aenter__(self):
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=pipe, stdout=pipe, cwd=self.cwd, limit=LINE_BYTES)
        self.reading = asyncio.create_task(self._read())
        wanted = {"steps": self.steps, "logs": bool(self.notices["log"]), "approve": "approve" in self.handlers,
                  "toolsChanged": bool(self.notices["tools_changed"])}
        self.server = await self.request("hello", protocol=PROTOCOL, capabilities=wanted)
        return self

    async def __aexit__(self, *_):
        """Ends the input; the process ends when its batches are over."""
        self.process.stdin.close()
        await self.process.wait()
        await self.reading

    async def request(self, method, *, id=None, **params):
        id = id if id is not None else next(self.ids)
        answer = self.waiting[id] = asyncio.get_running_loop().create_future()
        await self._send({"id": id, "method": method, "params": params})
        try:
            return await answer
        finally:
            self.waiting.pop(id, None)

    async def run(self, message, *, on_event=None, **options):
        """Runs the calls of an assistant message. Cancelling the task cancels the batch."""
        id = next(self.ids)
        self.watching[id] = on_event
        running = asyncio.ensure_future(self.request("run", id=id, message=message, **options))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await self.request("cancel", batch=id)
            await running
            raise
        finally:
            self.watching.pop(id, None)

    async def tools(self):
        return (await self.request("tools"))["tools"]

    async def update(self, request, partial_result):
        """A partial result of an `execute` request."""
        await self._send({"method": "update", "params": {"request": request, "partialResult": partial_result}})

    async def _send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self.process.stdin.drain()

    async def _read(self):
        try:
            while line := await self.process.stdout.readline():
                self._take(json.loads(line))
        finally:
            for answer in self.waiting.values():
                if not answer.done():
                    answer.set_exception(ToolgateError("toolgate has ended"))

    def _take(self, message):
        method, params = message.get("method"), message.get("params")
        if method is None:
            answer = self.waiting.get(message["id"])
            if answer and not answer.done():
                if error := message.get("error"):
                    answer.set_exception(ToolgateError(error["message"], error["code"], error.get("data")))
                else:
                    answer.set_result(message["result"])
        elif "id" in message:
            id = message["id"]
            self.answering[id] = asyncio.create_task(self._answer(id, method, params))
        elif method == "cancelled":
            if task := self.answering.get(params["request"]):
                task.cancel()
        elif method in ("event", "step"):
            if on_event := self.watching.get(params["batch"]):
                on_event(params)
        elif notice := self.notices.get(method):
            notice(params)

    async def _answer(self, id, method, params):
        try:
            if method == "execute":
                params = {**params, "request": id}
            await self._send({"id": id, "result": await self.handlers[method](params)})
        except asyncio.CancelledError:
            await self._send({"id": id, "error": {"code": -32800, "message": "Operation aborted"}})
        except Exception as error:
            await self._send({"id": id, "error": {"code": -32000, "message": str(error) or repr(error)}})
        finally:
            self.answering.pop(id, None)

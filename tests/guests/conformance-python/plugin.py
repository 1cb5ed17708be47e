"""The conformance plugin in Python: the tools and hooks that tests/conformance/cases.json drives, the same in each language."""

import logging
import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from toolgate_sdk import (
    AfterContext,
    Audio,
    BeforeContext,
    Decision,
    ExclusiveKey,
    Image,
    Number,
    Override,
    Resource,
    ResourceLink,
    Scope,
    SettledContext,
    ToolContext,
    ToolError,
    ToolResult,
    after_tool_call,
    before_tool_call,
    dumps,
    loads,
    log,
    settled,
    tool,
)

Natural = Annotated[int, {"minimum": 0}]


@tool(label="Echo", read_only=True, idempotent=True)
def echo(text: str) -> ToolResult:
    """Answers with the text it was given.

    Args:
        text: What to answer.
    """
    return ToolResult(text, details={"codePoints": len(text)})


@tool
def fail(how: Literal["error", "throw", "reported", "trap"], message: str) -> ToolResult:
    """Fails in one of the ways there are."""
    if how == "error":
        raise ToolError(message)
    if how == "throw":
        raise ValueError(message)
    if how == "trap":
        os.abort()
    return ToolResult(message, is_error=True)


@tool
def progress(steps: Natural, cx: ToolContext) -> str:
    """Sends updates."""
    for step in range(1, steps + 1):
        cx.update(f"step {step} of {steps}")
    return "done"


@tool
def sleep(ms: Natural, cx: ToolContext) -> str:
    """Sleeps, unless it is cancelled."""
    cx.wait(ms / 1000)
    return "slept"


@tool
def count(key: str, by: float, scope: Scope, cx: ToolContext) -> str:
    """Adds to a number of the state."""
    total = cx.state(scope).add(key, by)
    return str(int(total)) if total.is_integer() else dumps(total)


@tool(exclusive=ExclusiveKey("/key"))
def remember(key: str, cx: ToolContext, value: str | None = None, remove: bool = False) -> str:
    """Keeps, tells or forgets a text."""
    state = cx.state(Scope.CONVERSATION)
    if remove:
        state.remove(key)
    elif value is not None:
        state.set(key, value)
    else:
        kept = state.get(key, str)
        return "(nothing)" if kept is None else kept
    return "ok"


@dataclass
class Numbered:
    value: Number


@tool(output=Numbered)
def number(value: Number) -> ToolResult:
    """Answers with the number it was given, digit by digit."""
    return ToolResult(value.text, structured_content=Numbered(value))


@tool
def size(data: str) -> str:
    """Tells the length of a text in bytes."""
    return str(len(data.encode()))


@tool
def make(bytes: Natural) -> str:
    """Makes a text of that many bytes."""
    return "x" * bytes


@tool
def media() -> ToolResult:
    """Answers with a block of every kind."""
    return ToolResult(
        [
            "all",
            Image(b"\x89PNG\r\n\x1a\n", "image/png"),
            Audio(bytes(range(8)), "audio/wav"),
            ResourceLink("file:///a.txt", "a.txt", title="A", mime_type="text/plain", size=3),
            Resource("mem://t", "é"),
            Resource("mem://b", bytes([0, 255])),
        ]
    )


@tool
def settings(cx: ToolContext) -> str:
    """Tells the plugin's settings."""
    return dumps(loads(cx.config_json()))


@tool
def logs(level: Literal["trace", "debug", "info", "warn", "error"], message: str) -> str:
    """Writes a line to the log."""
    getattr(log, level)(message)
    return "logged"


class Place(TypedDict):
    position: int
    size: int
    turn: str
    conversation: str


@tool(output=Place)
def where(cx: ToolContext) -> ToolResult:
    """Tells the call's place in its batch."""
    batch = cx.batch
    place = Place(position=batch.position, size=batch.size, turn=batch.turn, conversation=batch.conversation)
    return ToolResult("ok", structured_content=place)


def rename_who(arguments: dict[str, Any]) -> dict[str, Any]:
    """An earlier version called the name `who`."""
    if "who" in arguments:
        arguments["name"] = arguments.pop("who")
    return arguments


@tool(prepare_arguments=rename_who)
def prepared(name: str) -> str:
    """Greets; takes an old shape of its arguments too."""
    return f"hello {name}"


@before_tool_call(tools=["echo"])
def before(cx: BeforeContext) -> Decision | None:
    match cx.parse_arguments()["text"]:
        case "block me":
            return Decision.block("not this")
        case "ask me":
            return Decision.ask("Sure?", "echo asks")
        case "change me":
            return Decision.replace({"text": "changed"})
        case "fail me":
            raise ToolError("hook broke")
    return None


@after_tool_call(tools=["echo"])
def after(cx: AfterContext) -> Override | None:
    return Override(content="[redacted]") if cx.result.joined_text() == "secret" else None


@settled
def note(cx: SettledContext) -> None:
    logging.info("settled %s %s", cx.call.name, str(cx.is_error).lower())

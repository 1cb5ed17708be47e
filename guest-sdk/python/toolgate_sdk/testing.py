"""The host's side in native tests, a small stand-in:

    from toolgate_sdk import testing
    from greet import greet

    def test_greets():
        with testing.host(config={"greeting": "hi"}) as host:
            assert host.call(greet, {"name": "Ada"}).joined_text() == "hi Ada"

What it does not play: validation and coercion of arguments, grants, limits, the order of calls. `toolgate call` and
`toolgate test` run the built component with all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from . import _hook, _host, _tool
from ._content import CallError, ToolCall, ToolResult, to_result
from ._errors import HostError
from ._json import dumps


def host(*, config: dict[str, Any] | None = None) -> FakeHost:
    """A host with these settings, for a `with` statement."""
    return FakeHost(config or {})


class FakeHost:
    """Plays the host while its `with` statement lasts."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        """The operator's settings."""
        self.cancelled = False
        """Whether the batch is cancelled."""
        self.cancel_in: float | None = None
        """Cancels the batch during a wait, after that many seconds of it; nothing really sleeps then."""
        self.updates: list[ToolResult] = []
        """The partial results that were sent."""
        self.logs: list[tuple[str, str]] = []
        """The log lines: level and message."""
        self.state: dict[tuple[_host.Scope, str], bytes] = {}
        """What is kept."""
        self._old: Any = None

    def __enter__(self) -> FakeHost:
        self._old = _host.set_backend(_Backend(self))
        return self

    def __exit__(self, *_: object) -> None:
        _host.set_backend(self._old)

    def call(self, tool: _tool.AnyTool, arguments: Any = None) -> ToolResult:
        """Calls a tool (its `prepare_arguments` too, where it has one), and raises what it raises. The arguments are not
        validated against its schema."""
        definition = tool.definition()
        text = dumps({} if arguments is None else arguments)
        if definition.prepares_arguments:
            text = _tool.prepare(tool, text)
        return _tool.run(tool, ToolCall("call-1", definition.name, text))

    def context(self, name: str = "test", arguments: Any = None) -> _host.ToolContext:
        """A context to call a tool's function with."""
        return _host.ToolContext(ToolCall("call-1", name, dumps({} if arguments is None else arguments)))

    def before(self, hook: Callable[[Any], Any], tool: str, arguments: Any = None) -> _hook.Decision:
        """Asks a hook about a call."""
        text = dumps({} if arguments is None else arguments)
        subscription = _hook.Subscription("before", hook, None)
        return _hook.before([subscription], _hook.BeforeContext(ToolCall("call-1", tool, text), text))

    def after(
        self, hook: Callable[[Any], Any], tool: str, arguments: Any, result: Any, error: CallError | None = None
    ) -> _hook.Override | None:
        """Shows a hook the result of a call."""
        text, result = dumps({} if arguments is None else arguments), to_result(result)
        subscription = _hook.Subscription("after", hook, None)
        cx = _hook.AfterContext(ToolCall("call-1", tool, text), text, result, result.is_error, error)
        return _hook.after([subscription], cx)


class _Backend:
    def __init__(self, host: FakeHost) -> None:
        self._host = host

    def update(self, partial: ToolResult) -> None:
        self._host.updates.append(partial)

    def is_cancelled(self) -> bool:
        return self._host.cancelled

    def wait(self, milliseconds: int) -> bool:
        host = self._host
        if not host.cancelled and host.cancel_in is not None:
            host.cancel_in -= milliseconds / 1000
            host.cancelled = host.cancel_in < 0
        elif not host.cancelled:
            time.sleep(milliseconds / 1000)
        return host.cancelled

    def write_log(self, level: str, message: str) -> None:
        self._host.logs.append((level, message))

    def state_get(self, scope: _host.Scope, key: str) -> bytes | None:
        return self._host.state.get((scope, key))

    def state_set(self, scope: _host.Scope, key: str, value: bytes) -> None:
        self._host.state[(scope, key)] = value

    def state_remove(self, scope: _host.Scope, key: str) -> None:
        self._host.state.pop((scope, key), None)

    def state_add(self, scope: _host.Scope, key: str, delta: float) -> float:
        try:
            total = float(self._host.state.get((scope, key), b"0")) + delta
        except ValueError:
            raise HostError(f"the value of `{key}` is no number") from None
        self._host.state[(scope, key)] = (str(int(total)) if total.is_integer() else repr(total)).encode()
        return total

    def config_get(self, key: str) -> str | None:
        return dumps(self._host.config[key]) if key in self._host.config else None

    def config_all(self) -> str:
        return dumps(self._host.config)

    def position(self) -> int:
        return 0

    def size(self) -> int:
        return 1

    def turn(self) -> str:
        return "turn-1"

    def conversation(self) -> str:
        return "conversation-1"

    def assistant_message(self) -> str:
        return "null"


__all__ = ["FakeHost", "host"]

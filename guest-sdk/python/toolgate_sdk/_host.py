"""What the host gives every call, in a tool and in a hook alike."""

from __future__ import annotations

import enum
import math
from typing import Any, Protocol, TypeVar, overload

from . import _types
from ._content import ToolCall, ToolResult, to_result
from ._errors import Cancelled, HostError
from ._json import dumps

T = TypeVar("T")


class Scope(enum.Enum):
    """How long what a plugin keeps lives."""

    TURN = "turn"
    CONVERSATION = "conversation"


class Backend(Protocol):
    """What stands behind a `Host`: the contract's imports in a component, `toolgate_sdk.testing` in tests."""

    def update(self, partial: ToolResult) -> None: ...
    def is_cancelled(self) -> bool: ...
    def wait(self, milliseconds: int) -> bool: ...
    def write_log(self, level: str, message: str) -> None: ...
    def state_get(self, scope: Scope, key: str) -> bytes | None: ...
    def state_set(self, scope: Scope, key: str, value: bytes) -> None: ...
    def state_remove(self, scope: Scope, key: str) -> None: ...
    def state_add(self, scope: Scope, key: str, delta: float) -> float: ...
    def config_get(self, key: str) -> str | None: ...
    def config_all(self) -> str: ...
    def position(self) -> int: ...
    def size(self) -> int: ...
    def turn(self) -> str: ...
    def conversation(self) -> str: ...
    def assistant_message(self) -> str: ...


class _Nobody:
    """There is a host only inside of a component, and in tests."""

    def __getattr__(self, name: str) -> Any:
        raise HostError(
            "there is no host here: in a component, ask it inside of a call, not while the module is imported; in a test, "
            "use toolgate_sdk.testing.host()"
        )


_backend: Any = _Nobody()


def backend() -> Backend:
    """What stands behind the host now."""
    return _backend  # type: ignore[no-any-return]


def set_backend(new: Any) -> Any:
    """Puts another in its place and returns the old one."""
    global _backend
    old, _backend = _backend, new
    return old


class Host:
    """The host's side of a call. Every context has all of it; `Host()` by itself serves where there is none, for instance
    while a plugin makes its tools from its settings (at load only settings and log are there)."""

    @overload
    def config(self) -> dict[str, Any]: ...
    @overload
    def config(self, kind: type[T]) -> T: ...
    def config(self, kind: Any = dict) -> Any:
        """The operator's settings for this plugin (`[plugins.NAME.config]`), read as a dataclass, a TypedDict or a dict.
        HostError where they don't fit. Settings are not checked before they are read: to refuse wrong ones at load, read
        them in a function marked `tools`."""
        return _types.read("The plugin's configuration does not fit", backend().config_all(), kind)

    def config_json(self) -> str:
        """All settings as the operator wrote them: JSON text, an object in its order and with its digits."""
        return backend().config_all()

    @overload
    def config_key(self, key: str) -> Any: ...
    @overload
    def config_key(self, key: str, kind: type[T]) -> T | None: ...
    def config_key(self, key: str, kind: Any = Any) -> Any:
        """One of the operator's settings; None where there is none."""
        text = backend().config_get(key)
        return None if text is None else _types.read(f"The plugin's setting `{key}` does not fit", text, kind)

    def is_cancelled(self) -> bool:
        """Whether the batch is cancelled. Cheap enough to ask in a loop."""
        return backend().is_cancelled()

    def check_cancelled(self) -> None:
        """Raises `Cancelled` once the batch is cancelled."""
        if backend().is_cancelled():
            raise Cancelled

    def wait(self, seconds: float) -> None:
        """Sleeps, but not beyond cancellation: then it raises `Cancelled`. The call's deadline goes on meanwhile."""
        milliseconds = min(max(0, math.ceil(seconds * 1000)), 2**32 - 1)
        if backend().wait(milliseconds):
            raise Cancelled

    def state(self, scope: Scope) -> State:
        """What outlives the instance, for this model's turn or for the conversation."""
        return State(scope)

    @property
    def batch(self) -> Batch:
        """The calls of the assistant message that this call belongs to."""
        return Batch()


class State:
    """The plugin's own store of one scope, bounded by the host in keys and bytes. Values are JSON unless the methods on
    bytes are used."""

    def __init__(self, scope: Scope) -> None:
        self._scope = Scope(scope)

    @overload
    def get(self, key: str) -> Any: ...
    @overload
    def get(self, key: str, kind: type[T]) -> T | None: ...
    def get(self, key: str, kind: Any = Any) -> Any:
        """A value kept earlier; None where there is none. HostError where it has another shape."""
        kept = self.get_bytes(key)
        if kept is None:
            return None
        return _types.read(f"The state kept under `{key}` has another shape", kept.decode("utf-8", "replace"), kind)

    def set(self, key: str, value: Any) -> None:
        """Keeps a value. HostError where the host's limits of keys or bytes are reached."""
        self.set_bytes(key, dumps(value).encode("utf-8", "replace"))

    def add(self, key: str, delta: float) -> float:
        """Adds atomically to a number (absent = 0) and returns the sum: the way to count across calls that run at the same
        time. HostError where the value is no number or a limit is reached."""
        return backend().state_add(self._scope, key, float(delta))

    def remove(self, key: str) -> None:
        """Forgets a value."""
        backend().state_remove(self._scope, key)

    def get_bytes(self, key: str) -> bytes | None:
        """Bytes kept earlier."""
        return backend().state_get(self._scope, key)

    def set_bytes(self, key: str, value: bytes) -> None:
        """Keeps bytes. HostError where the host's limits are reached."""
        backend().state_set(self._scope, key, bytes(value))


class Batch:
    """The calls of one assistant message. Each property asks the host."""

    @property
    def position(self) -> int:
        """Of this call in the model's order, from 0."""
        return backend().position()

    @property
    def size(self) -> int:
        """Calls in the batch."""
        return backend().size()

    @property
    def turn(self) -> str:
        """The turn's name; state of that scope lives as long as it."""
        return backend().turn()

    @property
    def conversation(self) -> str:
        """The conversation's name; state of that scope lives as long as it."""
        return backend().conversation()

    @property
    def assistant_message(self) -> str:
        """The message that holds the calls, JSON text; `null` where the host was given none."""
        return backend().assistant_message()


class ToolContext(Host):
    """One call of a tool; also everything of `Host`."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        """The model's id, the tool's name, and the arguments as JSON text."""

    @overload
    def parse_arguments(self) -> dict[str, Any]: ...
    @overload
    def parse_arguments(self, kind: type[T]) -> T: ...
    def parse_arguments(self, kind: Any = dict) -> Any:
        """The arguments as another type than the tool's parameters say."""
        return _types.read("Invalid arguments", self.call.arguments, kind)

    def update(self, partial: Any) -> None:
        """Sends a partial result: whatever a tool may return. Returns at once unless many are pending."""
        backend().update(to_result(partial))

"""Hooks: policy and observation around everyone's tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from . import _types
from ._content import NOT_GIVEN, CallError, Content, ToolCall, ToolResult
from ._errors import HostError
from ._host import Host
from ._json import RawJson, dumps

T = TypeVar("T")


@dataclass
class _HookContext(Host):
    call: ToolCall
    """As the model wrote it."""
    arguments: str
    """The arguments that run, or ran; JSON text, digits kept."""

    @overload
    def parse_arguments(self) -> dict[str, Any]: ...
    @overload
    def parse_arguments(self, kind: type[T]) -> T: ...
    def parse_arguments(self, kind: Any = dict) -> Any:
        """The arguments as a dataclass, a TypedDict or a dict, whose numbers are int or Decimal. HostError where they don't
        fit."""
        return _types.read("Invalid arguments", self.arguments, kind)


@dataclass
class BeforeContext(_HookContext):
    """What a before hook sees; also everything of `Host`."""


@dataclass
class AfterContext(_HookContext):
    """What an after hook sees; also everything of `Host`."""

    result: ToolResult
    """As earlier hooks left it; JSON in it is RawJson. Its own `is_error` is what the tool said."""
    is_error: bool
    """Whether the call counts as failed: the tool said so, it failed, or an earlier hook set it."""
    error: CallError | None = None
    """Given where the host has a kind for the failure."""


@dataclass
class SettledContext(AfterContext):
    """What a settled hook sees; also everything of `Host`."""

    duration: float = 0.0
    """From the start event to the end event, in seconds."""


@dataclass(frozen=True)
class Decision:
    """What a before hook answers; None is `Decision.allow()`."""

    kind: Literal["allow", "replace", "block", "ask"]
    arguments: Any = None
    reason: str | None = None
    terminate: bool = False
    title: str = ""
    text: str = ""

    @staticmethod
    def allow() -> Decision:
        """The call goes on."""
        return Decision("allow")

    @staticmethod
    def block(reason: str | None = None, *, terminate: bool = False) -> Decision:
        """Ends the call here. The reason is for the model; `terminate` hints that the run may stop."""
        return Decision("block", reason=reason, terminate=terminate)

    @staticmethod
    def replace(arguments: Any) -> Decision:
        """The call goes on with these arguments, which are validated again."""
        return Decision("replace", arguments=arguments)

    @staticmethod
    def ask(title: str, text: str) -> Decision:
        """Asks the host's approver, after the later hooks have run: a block among them wins. No approver, a no and no
        answer decline. What was approved runs; the hook is not asked again."""
        return Decision("ask", title=title, text=text)


@dataclass(kw_only=True)
class Override:
    """Changes a result field by field: a field not given stays. `details` and `usage` are replaced as a whole; a new
    `content` without a new `structured_content` drops the old one."""

    content: Sequence[Content | str] | str | None = None
    """None = not given; `[]` empties the content."""
    details: Any = NOT_GIVEN
    structured_content: Any = NOT_GIVEN
    usage: Any = NOT_GIVEN
    is_error: bool | None = None
    terminate: bool | None = None

    def then(self, later: Override) -> Override:
        """The override that does this one and then `later`."""
        structured = later.structured_content
        # Content alone drops the structured content, also the one that `self` gave.
        if structured is NOT_GIVEN and later.content is None:
            structured = self.structured_content
        return Override(
            content=self.content if later.content is None else later.content,
            details=self.details if later.details is NOT_GIVEN else later.details,
            structured_content=structured,
            usage=self.usage if later.usage is NOT_GIVEN else later.usage,
            is_error=self.is_error if later.is_error is None else later.is_error,
            terminate=self.terminate if later.terminate is None else later.terminate,
        )

    def apply(self, cx: AfterContext) -> AfterContext:
        """What a later hook sees."""
        result = dataclasses.replace(cx.result)
        if self.content is not None:
            result.content, result.structured_content = self.content, NOT_GIVEN
        for name in ("details", "structured_content", "usage"):
            if getattr(self, name) is not NOT_GIVEN:
                setattr(result, name, getattr(self, name))
        if self.terminate is not None:
            result.terminate = self.terminate
        return dataclasses.replace(cx, result=result, is_error=cx.is_error if self.is_error is None else self.is_error)


Event = Literal["before", "after", "settled"]


@dataclass
class Subscription:
    """A hook function with the event and the tools it wants."""

    event: Event
    function: Callable[[Any], Any]
    tools: Sequence[str] | None


_registered: list[Subscription] = []
_makers: list[Callable[[], Sequence[Subscription]]] = []
F = TypeVar("F", bound=Callable[..., Any])


def _marker(event: Event, function: Any, tools: Sequence[str] | None) -> Any:
    if isinstance(tools, str):
        raise TypeError("tools=.. is a list of names")

    def mark(function: F) -> F:
        _registered.append(Subscription(event, function, tools))
        return function

    return mark if function is None else mark(function)


Before = Callable[[BeforeContext], Decision | None]
After = Callable[[AfterContext], Override | None]
Settled = Callable[[SettledContext], None]


@overload
def before_tool_call(function: Before, /) -> Before: ...
@overload
def before_tool_call(*, tools: Sequence[str] | None = None) -> Callable[[Before], Before]: ...
def before_tool_call(function: Any = None, /, *, tools: Sequence[str] | None = None) -> Any:
    """Marks a function that is asked after validation, before execution; about these tools only, or about every one. What it
    raises refuses the call, and its message becomes the result.

    Several of one plugin are asked in the order they were marked in. Replaced arguments go on to the next; the first block
    ends it, also after an ask. The questions of several become one. An ask beside a replacement of another hook in the same
    plugin is an error, since the contract can't carry both: such hooks belong into plugins of their own."""
    return _marker("before", function, tools)


@overload
def after_tool_call(function: After, /) -> After: ...
@overload
def after_tool_call(*, tools: Sequence[str] | None = None) -> Callable[[After], After]: ...
def after_tool_call(function: Any = None, /, *, tools: Sequence[str] | None = None) -> Any:
    """Marks a function that sees results after execution, before the end event, and may return an `Override`. What it raises
    replaces the whole result, unless the operator configured that such a hook is skipped. Several of one plugin see the result
    as the earlier ones left it."""
    return _marker("after", function, tools)


@overload
def settled(function: Settled, /) -> Settled: ...
@overload
def settled(*, tools: Sequence[str] | None = None) -> Callable[[Settled], Settled]: ...
def settled(function: Any = None, /, *, tools: Sequence[str] | None = None) -> Any:
    """Marks a function that sees every call once it is over, refused ones too."""
    return _marker("settled", function, tools)


def hooks(function: Callable[[], Sequence[Subscription]]) -> Callable[[], Sequence[Subscription]]:
    """Marks a function that makes hooks at run time, for instance from the operator's settings. It is called at load and
    again in every call, so it must give the same answer each time."""
    _makers.append(function)
    return function


def has_hooks() -> bool:
    """Whether the plugin has hooks, or may have."""
    return bool(_registered or _makers)


def all_hooks() -> list[Subscription]:
    """The plugin's hooks, in the order they are asked."""
    return _registered + [hook for make in _makers for hook in make()]


def _wanting(hooks: Sequence[Subscription], event: Event, tool: str) -> list[Callable[[Any], Any]]:
    return [hook.function for hook in hooks if hook.event == event and (hook.tools is None or tool in hook.tools)]


def before(hooks: Sequence[Subscription], cx: BeforeContext) -> Decision:
    """Asks the hooks about a call, one after another."""
    replaced = False
    asked: Decision | None = None
    for hook in _wanting(hooks, "before", cx.call.name):
        decision = hook(cx)
        if decision is None:
            continue
        if not isinstance(decision, Decision):
            raise TypeError(f"a before hook returns a Decision or None, not {type(decision).__name__}")
        if decision.kind == "block":
            return decision
        if decision.kind == "replace":
            cx, replaced = dataclasses.replace(cx, arguments=dumps(decision.arguments)), True
        elif decision.kind == "ask":
            # The contract carries one question per component; the person has to see both.
            asked = decision if asked is None else Decision.ask(
                f"{asked.title}; {decision.title}", f"{asked.text}\n\n{decision.text}"
            )
    if asked is not None and replaced:
        raise HostError(
            "One hook asked for approval and another hook of the same plugin replaced the arguments; put the two hooks into "
            "plugins of their own"
        )
    if asked is not None:
        return asked
    return Decision.replace(RawJson(cx.arguments)) if replaced else Decision.allow()


def after(hooks: Sequence[Subscription], cx: AfterContext) -> Override | None:
    """Shows the hooks a result, one after another."""
    all: Override | None = None
    for hook in _wanting(hooks, "after", cx.call.name):
        override = hook(cx)
        if override is None:
            continue
        if not isinstance(override, Override):
            raise TypeError(f"an after hook returns an Override or None, not {type(override).__name__}")
        cx = override.apply(cx)
        all = override if all is None else all.then(override)
    return all


def tell_settled(hooks: Sequence[Subscription], cx: SettledContext) -> None:
    """Tells the hooks of a call that is over."""
    for hook in _wanting(hooks, "settled", cx.call.name):
        hook(cx)

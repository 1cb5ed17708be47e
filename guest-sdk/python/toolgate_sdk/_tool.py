"""Tools: functions with a few words about them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, ParamSpec, TypeVar, get_args, get_origin, overload

from . import _types
from ._content import Json, ToolCall, ToolResult, to_result
from ._errors import HostError
from ._host import ToolContext
from ._json import RawJson, dumps, loads, parse

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class ExclusiveKey:
    """Something that a call holds while it runs. Calls holding an equal one of which one writes run one after another;
    readers overlap."""

    pointer: str
    """RFC 6901 pointer into the arguments, for example `/path`. One that finds nothing is no key."""
    access: Literal["read", "write"] = "write"
    is_path: bool = False
    """The value is a path: resolved through the plugin's grants and compared with other plugins' calls too."""


@dataclass
class Definition:
    """What a tool says about itself."""

    name: str
    """`[A-Za-z0-9_-]{1,64}`, unique in the plugin."""
    description: str
    """For the model: what the tool does, when to use it, what it does not do."""
    parameters: Any
    """JSON Schema 2020-12 of the arguments: a dict or RawJson."""
    label: str | None = None
    """A short name for people."""
    output: Any = None
    """JSON Schema 2020-12 of the structured content."""
    execution_mode: Literal["parallel", "sequential"] | None = None
    """`sequential` makes a batch with a call of this tool run its calls one after another. To order calls on one resource
    only, use `exclusive`."""
    exclusive: Sequence[ExclusiveKey] = ()
    prepares_arguments: bool = False
    read_only: bool | None = None
    """This and the next three are MCP's annotations, shown to clients and never used for policy."""
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    meta: Any = None
    """MCP `_meta`, an object."""


class AnyTool:
    """A tool made by hand, for instance one that is only known at run time: give it to a function marked `tools`."""

    def definition(self) -> Definition:
        """What the model is told, and how calls may run. Read once at load."""
        raise NotImplementedError

    def prepare_arguments(self, arguments: Any) -> Any:
        """Accepts older shapes of the arguments: takes what the model wrote and returns what goes on to validation. Called
        only where the definition says `prepares_arguments`."""
        return arguments

    def execute(self, cx: ToolContext) -> Any:
        """Runs one call, whose arguments fit the definition's parameters."""
        raise NotImplementedError


class Tool(AnyTool, Generic[P, R]):
    """A function marked `tool`. It can still be called as a function."""

    def __init__(self, function: Callable[P, R], definition: Definition, closed: bool, prepare: Any, arguments: Any) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._prepare = prepare
        self._arguments = arguments
        self._context: str | None = None
        self._whole: str | None = None
        self._members: list[_types.Member] = []
        self._definition = definition
        self._read_signature(closed)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def _read_signature(self, closed: bool) -> None:
        function, definition = self._function, self._definition
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"the tool `{definition.name}` is async, which the contract is not: make it a plain function")
        hints = _types.hints_of(function)
        _, described = _types.split_docstring(function.__doc__)
        for name, parameter in inspect.signature(function).parameters.items():
            hint = hints.get(name, Any)
            if inspect.isclass(hint) and issubclass(hint, ToolContext):
                self._context = name
            elif parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"the parameter `{name}` of the tool `{definition.name}` has no name for a model to give")
            elif self._arguments is not None:
                if self._whole is not None:
                    raise TypeError(f"the tool `{definition.name}` has arguments=.. and more than one parameter for them")
                self._whole = name
            else:
                empty = parameter.default is parameter.empty
                self._members.append(_types.Member(name, hint, empty, parameter.default, described.get(name, "")))
        try:
            if definition.parameters is None:
                if self._arguments is not None:
                    definition.parameters = _types.schema_of(self._arguments)
                    # Clients insist, also where the type does not say so.
                    if not {"type", "$ref"} & definition.parameters.keys():
                        definition.parameters = {"type": "object", **definition.parameters}
                else:
                    definition.parameters = _types.schema_of_members(self._members, closed)
            if definition.output is None:
                definition.output = _output_of(hints.get("return"))
            elif not isinstance(definition.output, (dict, RawJson)):
                definition.output = _types.schema_of(definition.output)
        except TypeError as error:
            raise TypeError(f"the tool `{definition.name}`: {error}") from None

    def definition(self) -> Definition:
        return self._definition

    def prepare_arguments(self, arguments: Any) -> Any:
        return arguments if self._prepare is None else self._prepare(arguments)

    def execute(self, cx: ToolContext) -> Any:
        try:
            parsed = parse(cx.call.arguments)
            if self._whole is not None:
                values = {self._whole: _types.convert(parsed, self._arguments)}
            else:
                values = _types.convert_members(parsed, self._members)
        except (ValueError, RecursionError) as error:
            raise HostError(f"Invalid arguments: {error}") from None
        if self._context is not None:
            values[self._context] = cx
        return self._function(**values)  # type: ignore[call-arg]


def _output_of(hint: Any) -> dict[str, Any] | None:
    """The schema that a return type implies: of data that is an object."""
    if get_origin(hint) is Json:
        hint = get_args(hint)[0]
    elif _types.members_of(hint) is None or hint is ToolResult:
        return None
    schema = _types.schema_of(hint)
    return schema if schema.get("type") == "object" else None


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    label: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    arguments: Any = None,
    output: Any = None,
    execution_mode: Literal["parallel", "sequential"] | None = None,
    exclusive: Sequence[ExclusiveKey] | ExclusiveKey = (),
    prepare_arguments: Callable[[Any], Any] | None = None,
    closed: bool = False,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    meta: Any = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    label: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    arguments: Any = None,
    output: Any = None,
    execution_mode: Any = None,
    exclusive: Any = (),
    prepare_arguments: Any = None,
    closed: bool = False,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    meta: Any = None,
) -> Any:
    """Makes a function a tool of this plugin. Its parameters are the arguments, by name; one annotated `ToolContext` is given
    the call. The docstring is the description for the model, its `Args:` section describes the arguments.

    What it returns: a str, None, content, a list of content, a dict or dataclass (data, which becomes the structured content),
    `Json(..)` or a `ToolResult`. What it raises fails the call, with the message as the text.

    - `arguments=Args`: the one parameter takes all arguments as a dataclass, TypedDict or dict.
    - `parameters=..`: a JSON Schema in place of the one from the hints.
    - `output=..`: a type or a JSON Schema of the structured content; implied by a return type that is a dataclass, a
      TypedDict or `Json[..]` of one.
    - `prepare_arguments=f`: accepts older shapes of the arguments; takes what the model wrote (numbers are int or Decimal)
      and returns what goes on to validation.
    - `closed=True`: unknown arguments are refused; otherwise they are ignored.
    - the others: see `Definition`.
    """

    def mark(function: Callable[..., Any]) -> Tool[..., Any]:
        doc, _ = _types.split_docstring(function.__doc__)
        definition = Definition(
            name=name or function.__name__,
            description=doc if description is None else description,
            parameters=parameters,
            label=label,
            output=output,
            execution_mode=execution_mode,
            exclusive=(exclusive,) if isinstance(exclusive, ExclusiveKey) else tuple(exclusive),
            prepares_arguments=prepare_arguments is not None,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            meta=meta,
        )
        marked: Tool[..., Any] = Tool(function, definition, closed, prepare_arguments, arguments)
        _registered.append(lambda: [marked])
        return marked

    return mark if function is None else mark(function)


_registered: list[Callable[[], Sequence[AnyTool]]] = []


def tools(function: Callable[[], Sequence[AnyTool]]) -> Callable[[], Sequence[AnyTool]]:
    """Marks a function that makes tools at run time, for instance from the operator's settings (`Host().config()`). It is
    called at load and again in every call, so it must give the same answer each time. What it raises refuses the plugin at
    load."""
    _registered.append(function)
    return function


def has_tools() -> bool:
    """Whether the plugin has tools, or may have."""
    return bool(_registered)


def all_tools() -> list[AnyTool]:
    """The plugin's tools, in the order they were marked in."""
    return [tool for make in _registered for tool in make()]


def find(name: str) -> AnyTool:
    """The tool of a name."""
    for tool in all_tools():
        if tool.definition().name == name:
            return tool
    raise HostError(f"This plugin has no tool `{name}`")


def prepare(tool: AnyTool, arguments: str) -> str:
    """Hands older arguments to a tool."""
    return dumps(tool.prepare_arguments(loads(arguments)))


def run(tool: AnyTool, call: ToolCall) -> ToolResult:
    """Runs one call."""
    return to_result(tool.execute(ToolContext(call)))

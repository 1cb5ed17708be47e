"""What a tool answers: content blocks and results."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, Union

from ._json import RawJson, dumps


class _NotGiven(enum.Enum):
    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = _NotGiven.NOT_GIVEN
"""Of a field that is left out; None is JSON's null."""


@dataclass(kw_only=True)
class _Block:
    annotations: dict[str, Any] | RawJson | None = None
    """MCP annotations, an object."""
    meta: dict[str, Any] | RawJson | None = None
    """MCP `_meta`, an object."""


@dataclass
class Text(_Block):
    """Text for the model."""

    text: str


@dataclass
class Image(_Block):
    """An image, for example of type `image/png`."""

    data: bytes
    mime_type: str


@dataclass
class Audio(_Block):
    """A sound, for example of type `audio/wav`."""

    data: bytes
    mime_type: str


@dataclass
class ResourceLink(_Block):
    """A pointer to something the model or the user may read elsewhere."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    """In bytes."""


@dataclass
class Resource(_Block):
    """A resource given in place: a text, or bytes."""

    uri: str
    body: str | bytes
    mime_type: str | None = None


Content = Union[Text, Image, Audio, ResourceLink, Resource]
"""MCP's five content blocks."""

_BLOCKS = (Text, Image, Audio, ResourceLink, Resource)


@dataclass
class ToolResult:
    """What a call answers; also the shape of a partial result. `details`, `structured_content` and `usage` take whatever
    can be written as JSON."""

    content: Sequence[Content | str] | str = ()
    """For the model: blocks, where a str is a text. May be empty."""
    _: dataclasses.KW_ONLY
    details: Any = NOT_GIVEN
    """For programs and user interfaces; the model does not see it."""
    structured_content: Any = NOT_GIVEN
    """The answer as data, for a tool that declares an output."""
    usage: Any = NOT_GIVEN
    """Token or cost accounting, an object."""
    is_error: bool = False
    """The call failed although it has a result to show."""
    terminate: bool | None = None
    """A hint that the run may stop here; it counts only where every result of the batch says true."""
    added_tool_names: Sequence[str] | None = None
    """Tools that become callable from the next turn on."""

    def blocks(self) -> list[Content]:
        """The content, each a block."""
        return blocks(self.content)

    def joined_text(self) -> str:
        """The text blocks, one after another on lines of their own."""
        return "\n".join(block.text for block in self.blocks() if isinstance(block, Text))


T = TypeVar("T")


@dataclass
class Json(Generic[T]):
    """Data as the answer: becomes the structured content, and the same JSON as text for the model."""

    value: T


def blocks(content: Sequence[Content | str] | str) -> list[Content]:
    """A list of blocks of what may be given as content."""
    if isinstance(content, str):
        return [Text(content)]
    converted: list[Content] = []
    for block in content:
        if isinstance(block, str):
            converted.append(Text(block))
        elif isinstance(block, _BLOCKS):
            converted.append(block)
        else:
            raise TypeError(f"a content block is a str, Text, Image, Audio, ResourceLink or Resource, not {type(block).__name__}")
    return converted


def to_result(answer: Any) -> ToolResult:
    """What a tool may return, or send as a partial result: a str, None, a content block, a list of those, a ToolResult, or
    data: a dict, a dataclass, or anything in `Json(..)`."""
    if isinstance(answer, ToolResult):
        return answer
    if answer is None:
        return ToolResult()
    if isinstance(answer, str):
        return ToolResult([Text(answer)])
    if isinstance(answer, _BLOCKS):
        return ToolResult([answer])
    if isinstance(answer, Json):
        answer = answer.value
    elif isinstance(answer, (list, tuple)):
        return ToolResult(blocks(answer))
    elif not isinstance(answer, dict) and not (dataclasses.is_dataclass(answer) and not isinstance(answer, type)):
        raise TypeError(
            f"a tool returns a str, None, content, a dict, a dataclass, Json(..) or a ToolResult, not {type(answer).__name__}"
        )
    text = dumps(answer)
    return ToolResult([Text(text)], structured_content=RawJson(text))


@dataclass
class ToolCall:
    """One call as a model wrote it."""

    id: str
    """The model's; not unique."""
    name: str
    arguments: str
    """JSON text, digits kept."""


@dataclass
class CallError:
    """Why a call has an error result, for programs."""

    kind: str
    """For example `tool-failed`, `blocked`, `deadline`."""
    stage: str
    """`prepare`, `execute` or `finalize`."""

"""Write Toolgate tools and hooks in Python.

A plugin is a module, built as a WebAssembly component by `python -m toolgate_sdk.build`. A tool is a function with a
decorator:

    from toolgate_sdk import tool

    @tool(read_only=True)
    def words(text: str) -> str:
        \"\"\"Counts the words of a text.

        Args:
            text: The text to count in.
        \"\"\"
        return str(len(text.split()))

Hooks are marked `before_tool_call`, `after_tool_call` and `settled`. Every call runs in a fresh instance: nothing kept in
memory survives it, what has to is kept with `cx.state(Scope.TURN)`. Natively `toolgate_sdk.testing` plays the host.
"""

from . import log
from ._content import (
    NOT_GIVEN,
    Audio,
    CallError,
    Content,
    Image,
    Json,
    Resource,
    ResourceLink,
    Text,
    ToolCall,
    ToolResult,
)
from ._errors import Cancelled, HostError, ToolError
from ._hook import (
    AfterContext,
    BeforeContext,
    Decision,
    Override,
    SettledContext,
    Subscription,
    after_tool_call,
    before_tool_call,
    hooks,
    settled,
)
from ._host import Batch, Host, Scope, State, ToolContext
from ._json import Number, RawJson, dumps, loads
from ._tool import AnyTool, Definition, ExclusiveKey, Tool, tool, tools

__all__ = [
    "NOT_GIVEN",
    "AfterContext",
    "AnyTool",
    "Audio",
    "Batch",
    "BeforeContext",
    "CallError",
    "Cancelled",
    "Content",
    "Decision",
    "Definition",
    "ExclusiveKey",
    "Host",
    "HostError",
    "Image",
    "Json",
    "Number",
    "Override",
    "RawJson",
    "Resource",
    "ResourceLink",
    "Scope",
    "SettledContext",
    "State",
    "Subscription",
    "Text",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "after_tool_call",
    "before_tool_call",
    "dumps",
    "hooks",
    "loads",
    "log",
    "settled",
    "tool",
    "tools",
]

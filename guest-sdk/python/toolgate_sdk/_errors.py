"""What a tool or hook raises, and how an exception reads to a model."""

from __future__ import annotations

import builtins


class ToolError(Exception):
    """Why a tool call failed. The text is for the model: say what happened and what to do differently.

    Any other exception fails the call too, with its message as the text.
    """


class Cancelled(ToolError):
    """The batch is cancelled: raised by `wait` and `check_cancelled`. Let it pass."""

    def __init__(self) -> None:
        super().__init__("Operation aborted")


class HostError(Exception):
    """What the host's side refused, or gave in a shape the plugin did not expect: settings, state, arguments."""


# Raised on purpose as well as by mistake; of the other built-in ones the name says more than the message.
_PLAIN = (ValueError, RuntimeError, OSError, AssertionError)


def describe(error: BaseException) -> str:
    """An exception as the model reads it, with the causes it was raised from."""
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < 5:
        text = str(cause)
        name = type(cause).__name__
        builtin = getattr(builtins, name, None) is type(cause)
        if not text:
            text = name
        elif builtin and not (isinstance(cause, _PLAIN) and not isinstance(cause, UnicodeError)):
            text = f"{name}: {text}"
        if not any(text in part for part in parts):
            parts.append(text)
        cause = cause.__cause__
    return ": ".join(parts)

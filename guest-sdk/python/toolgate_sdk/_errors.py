"""What a tool or hook raises, and how an exception reads to a model."""

from __future__ import annotations

import builtins
import errno
import sys


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


# WASI's codes for: not in a granted directory.
_NOT_CAPABLE = 76


def _file_error(error: BaseException) -> str:
    """A file error without the error's number, and with what the sandbox's own codes don't say."""
    if not isinstance(error, OSError) or error.strerror is None or error.filename is None:
        return ""
    text = f"{error.filename}: {error.strerror}"
    refused = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, _NOT_CAPABLE)
    if sys.platform == "wasi" and error.errno in refused:
        text += " (this plugin reaches only the directories that the operator granted)"
    return text


def describe(error: BaseException) -> str:
    """An exception as the model reads it, with the causes it was raised from."""
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < 5:
        text = _file_error(cause) or str(cause)
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

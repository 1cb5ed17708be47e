"""Lines for the operator; neither model nor user sees them. The `logging` module writes here too: in a component its root
logger is set up so, with the level left to the host."""

from __future__ import annotations

import logging
from typing import Any

from ._host import backend

TRACE = 5
"""Below DEBUG: steps of interest only while looking for a fault."""

logging.addLevelName(TRACE, "TRACE")


def trace(message: Any) -> None:
    """Steps of interest only while looking for a fault."""
    backend().write_log("trace", str(message))


def debug(message: Any) -> None:
    """Details for the plugin's author."""
    backend().write_log("debug", str(message))


def info(message: Any) -> None:
    """What the operator may want to know."""
    backend().write_log("info", str(message))


def warn(message: Any) -> None:
    """What the operator should look at."""
    backend().write_log("warn", str(message))


def error(message: Any) -> None:
    """What went wrong."""
    backend().write_log("error", str(message))


class Handler(logging.Handler):
    """Makes `logging` write the host's log."""

    def emit(self, record: logging.LogRecord) -> None:
        levels = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"), (logging.DEBUG, "debug"))
        level = next((name for least, name in levels if record.levelno >= least), "trace")
        try:
            backend().write_log(level, self.format(record))
        except Exception:
            self.handleError(record)

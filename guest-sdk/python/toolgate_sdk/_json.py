"""JSON as text: what crosses to the host, with every digit of its numbers."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import json
import math
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any


class Number:
    """A JSON number as it was written, with every digit: an annotation for arguments, settings and results."""

    __slots__ = ("text",)

    def __init__(self, text: str | int | Decimal) -> None:
        self.text = str(text)
        """As it stood in the JSON."""

    def __int__(self) -> int:
        """The whole number it is, also where it is written `50.0` or `1e3`; ValueError where it is none."""
        try:
            return int(self.text)
        except ValueError:
            pass
        value = Decimal(self.text)
        # An exponent of some digits would be a number of gigabytes.
        if value != value.to_integral_value() or value.adjusted() > 4000:
            raise ValueError(f"{self.text} is no integer")
        return int(value)

    def __float__(self) -> float:
        value = float(self.text)
        if math.isinf(value):
            raise ValueError(f"{self.text} is too large for a float")
        return value

    def decimal(self) -> Decimal:
        """The number as a Decimal; exact."""
        return Decimal(self.text)

    def plain(self) -> int | Decimal:
        """An int where it is written as one, else a Decimal; exact either way."""
        return int(self.text) if self.text.lstrip("-").isdigit() else Decimal(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Number({self.text!r})"


class RawJson:
    """A JSON document as text. Written out as it stands wherever a value that becomes JSON may be given."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def parse(self) -> Any:
        """The document as Python values; numbers are int or Decimal."""
        return plain(parse(self.text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawJson) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"RawJson({self.text!r})"


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def parse(text: str) -> Any:
    """Python values with each number a `Number`."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_no_constant)


def plain(value: Any) -> Any:
    """The same with numbers as int or Decimal."""
    if isinstance(value, Number):
        return value.plain()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def loads(text: str) -> Any:
    """Reads JSON; a number is an int where it is written as one, else a Decimal."""
    return plain(parse(text))


def dumps(value: Any) -> str:
    """Writes compact JSON. Beside what the json module takes: Decimal, Number and RawJson with their digits, dataclasses,
    enums (their value), dates (ISO 8601), bytes (base64), tuples and sets. TypeError or ValueError where it can't."""
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


def _write(value: Any, put: Any) -> None:
    if value is None:
        put("null")
    elif value is True:
        put("true")
    elif value is False:
        put("false")
    elif isinstance(value, enum.Enum):
        _write(value.value, put)
    elif isinstance(value, str):
        put(encode_basestring(value))
    elif isinstance(value, int):
        put(int.__repr__(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} can't be written as JSON")
        put(float.__repr__(value))
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} can't be written as JSON")
        put(str(value))
    elif isinstance(value, (Number, RawJson)):
        put(value.text)
    elif isinstance(value, dict):
        put("{")
        for at, (key, item) in enumerate(value.items()):
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object is a string, not {key!r}")
            put("," + encode_basestring(key) + ":" if at else encode_basestring(key) + ":")
            _write(item, put)
        put("}")
    elif isinstance(value, (list, tuple, set, frozenset)):
        put("[")
        for at, item in enumerate(value):
            if at:
                put(",")
            _write(item, put)
        put("]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _write({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, put)
    elif isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        put(encode_basestring(value.isoformat()))
    elif isinstance(value, (bytes, bytearray)):
        put(encode_basestring(base64.b64encode(value).decode()))
    else:
        raise TypeError(f"a {type(value).__name__} can't be written as JSON")

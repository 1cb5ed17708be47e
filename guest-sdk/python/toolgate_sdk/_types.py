"""Type hints, read twice: as JSON Schema for the model, and as the shape that JSON is converted to."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import enum
import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from ._errors import HostError
from ._json import Number, RawJson, dumps, parse, plain

# What `type X = ..` makes, from Python 3.12 on.
_ALIAS: Any = getattr(typing, "TypeAliasType", ())
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Attributes):\s*$", re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    Number: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
}


def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description, and what an `Args:` section says of each name."""
    text = inspect.cleandoc(text or "")
    found = _SECTION.search(text)
    if found is None:
        return text.strip(), {}
    lines = text[found.end() :].splitlines()
    described: dict[str, str] = {}
    rest: list[str] = []
    name, indent = "", 0
    for at, line in enumerate(lines):
        if line.strip() and not line[0].isspace():
            rest = lines[at:]
            break
        depth = len(line) - len(line.lstrip())
        entry = _ENTRY.match(line.strip())
        if line.strip() and entry and (not name or depth <= indent):
            name, indent = entry[1].lstrip("*"), depth
            described[name] = entry[2].strip()
        elif name and line.strip():
            described[name] = f"{described[name]} {line.strip()}".strip()
    description = text[: found.start()].rstrip() + "\n\n" + "\n".join(rest)
    return description.strip(), described


def hints_of(owner: Any) -> dict[str, Any]:
    """The type hints of a function or class, also where they are written as strings."""
    return get_type_hints(owner, include_extras=True)


@dataclasses.dataclass
class Member:
    """A property of an object."""

    name: str
    hint: Any
    required: bool
    default: Any = inspect.Parameter.empty
    description: str = ""


def members_of(hint: Any) -> list[Member] | None:
    """The properties of a dataclass or TypedDict; None for other types."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints, (_, described) = hints_of(hint), split_docstring(_own_doc(hint))
        members = []
        for field in dataclasses.fields(hint):
            if not field.init:
                continue
            no_default = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            members.append(Member(field.name, hints[field.name], no_default, default, described.get(field.name, "")))
        return members
    if typing.is_typeddict(hint):
        _, described = split_docstring(_own_doc(hint))
        return [
            Member(name, member, name in hint.__required_keys__, description=described.get(name, ""))
            for name, member in hints_of(hint).items()
        ]
    return None


def _own_doc(hint: Any) -> str | None:
    # A dataclass without a docstring gets its signature as one.
    doc = hint.__dict__.get("__doc__")
    return None if doc and doc.startswith(f"{hint.__name__}(") else doc


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


class _Schemas:
    def __init__(self) -> None:
        self.open: list[Any] = []
        self.named: dict[Any, str] = {}
        self.defs: dict[str, Any] = {}

    def of(self, hint: Any) -> dict[str, Any]:
        if hint in (Any, object, inspect.Parameter.empty, RawJson):
            return {}
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        if isinstance(hint, _ALIAS):
            return self.of(hint.__value__)
        try:
            if hint in _SCALARS:
                return dict(_SCALARS[hint])
        except TypeError:
            pass
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            schema = self.of(args[0])
            for extra in args[1:]:
                if isinstance(extra, str):
                    schema["description"] = extra
                elif isinstance(extra, Mapping):
                    schema.update(extra)
            return schema
        if origin in (Required, NotRequired):
            return self.of(args[0])
        if origin is Literal:
            return self._enum([value.value if isinstance(value, enum.Enum) else value for value in args])
        if _is_union(hint):
            return self._union([self.of(arg) for arg in args])
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum([member.value for member in hint])
        members = members_of(hint)
        if members is not None:
            return self._object(hint, members)
        kind = origin or hint
        if kind is tuple and args and args[-1] is not Ellipsis:
            items = [] if args == ((),) else [self.of(arg) for arg in args]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if isinstance(kind, type) and issubclass(kind, (list, tuple, set, frozenset)) or kind is Sequence:
            schema = {"type": "array"}
            if args and self.of(args[0]):
                schema["items"] = self.of(args[0])
            if isinstance(kind, type) and issubclass(kind, (set, frozenset)):
                schema["uniqueItems"] = True
            return schema
        if kind in (dict, Mapping):
            if args and args[0] is not str:
                raise TypeError(f"the keys of {hint} have to be str")
            values = self.of(args[1]) if args else {}
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        raise TypeError(f"{hint!r} has no JSON Schema; use a dataclass, a TypedDict, or Annotated[Any, {{..}}]")

    def _enum(self, values: list[Any]) -> dict[str, Any]:
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and next(iter(kinds)) in (str, int, bool):
            return {"type": _SCALARS[next(iter(kinds))]["type"], "enum": values}
        return {"enum": values}

    def _union(self, schemas: list[dict[str, Any]]) -> dict[str, Any]:
        if any(not schema for schema in schemas):
            return {}
        null = {"type": "null"}
        others = [schema for schema in schemas if schema != null]
        if len(others) == 1 and len(schemas) == 2 and isinstance(others[0].get("type"), str) and "enum" not in others[0]:
            return {**others[0], "type": [others[0]["type"], "null"]}
        return {"anyOf": schemas}

    def _object(self, hint: Any, members: list[Member]) -> dict[str, Any]:
        if hint in self.open:
            self.named[hint] = hint.__name__
        if hint in self.named:
            return {"$ref": f"#/$defs/{self.named[hint]}"}
        self.open.append(hint)
        try:
            schema = self.object_of(members)
        finally:
            self.open.pop()
        if hint in self.named:
            self.defs[self.named[hint]] = schema
            return {"$ref": f"#/$defs/{self.named[hint]}"}
        return schema

    def object_of(self, members: list[Member]) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for member in members:
            schema = self.of(without_none(member.hint) if member.default is None else member.hint)
            if member.description and "description" not in schema:
                schema["description"] = member.description
            if isinstance(member.default, (str, int, float, bool)) and not isinstance(member.default, enum.Enum):
                schema.setdefault("default", member.default)
            properties[member.name] = schema
        schema = {"type": "object", "properties": properties}
        required = [member.name for member in members if member.required]
        if required:
            schema["required"] = required
        return schema


def without_none(hint: Any) -> Any:
    """`X | None` whose default is None may as well be left out: the model need not know two ways."""
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return Annotated[tuple([without_none(inner), *extras])]
    if not _is_union(hint):
        return hint
    others = tuple(arg for arg in get_args(hint) if arg is not type(None))
    return Union[others] if others else hint


def schema_of(hint: Any) -> dict[str, Any]:
    """JSON Schema 2020-12 of a type hint."""
    schemas = _Schemas()
    schema = schemas.of(hint)
    return {**schema, "$defs": schemas.defs} if schemas.defs else schema


def schema_of_members(members: list[Member], closed: bool) -> dict[str, Any]:
    """JSON Schema 2020-12 of an object of these properties."""
    schemas = _Schemas()
    schema = schemas.object_of(members)
    if closed:
        schema["additionalProperties"] = False
    return {**schema, "$defs": schemas.defs} if schemas.defs else schema


class Misfit(ValueError):
    """A value of another shape; says where."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"`{path}`: {text}" if path else text)


def convert(value: Any, hint: Any, path: str = "") -> Any:
    """Parsed JSON as what a type hint names. Raises Misfit."""
    if hint in (Any, object, inspect.Parameter.empty):
        return plain(value)
    if isinstance(hint, typing.NewType):
        return convert(value, hint.__supertype__, path)
    if isinstance(hint, _ALIAS):
        return convert(value, hint.__value__, path)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Annotated, Required, NotRequired):
        return convert(value, args[0], path)
    if origin is Literal:
        for choice in args:
            meant = choice.value if isinstance(choice, enum.Enum) else choice
            if type(plain(value)) is type(meant) and plain(value) == meant:
                return choice
        raise Misfit(path, f"{_show(value)} is none of {', '.join(map(repr, args))}")
    if _is_union(hint):
        if value is None and type(None) in args:
            return None
        failures = []
        for member in args:
            try:
                return convert(value, member, path)
            except Misfit as misfit:
                failures.append(misfit)
        raise failures[-1] if len(args) == 2 and type(None) in args else Misfit(path, f"{_show(value)} fits none of {hint}")
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        for member in hint:
            if type(plain(value)) is type(member.value) and plain(value) == member.value:
                return member
        raise Misfit(path, f"{_show(value)} is none of {', '.join(repr(member.value) for member in hint)}")
    members = members_of(hint)
    if members is not None:
        values = convert_members(value, members, path)
        return hint(**values)
    try:
        reader = _READERS.get(hint)
    except TypeError:
        reader = None
    if reader is not None:
        return reader(value, path)
    kind = origin or hint
    if kind is Sequence:
        kind = list
    if isinstance(kind, type) and issubclass(kind, (list, tuple, set, frozenset)):
        if not isinstance(value, list):
            raise Misfit(path, f"{_show(value)} is no list")
        if kind is tuple and args and args[-1] is not Ellipsis:
            if len(value) != len(args):
                raise Misfit(path, f"a list of {len(value)} where {len(args)} were expected")
            return tuple(convert(item, arg, _at(path, at)) for at, (item, arg) in enumerate(zip(value, args)))
        inner = args[0] if args else Any
        return kind(convert(item, inner, _at(path, at)) for at, item in enumerate(value))
    if kind in (dict, Mapping):
        if not isinstance(value, dict):
            raise Misfit(path, f"{_show(value)} is no object")
        inner = args[1] if len(args) == 2 else Any
        return {key: convert(item, inner, _at(path, key)) for key, item in value.items()}
    raise TypeError(f"JSON can't be converted to {hint!r}")


def convert_members(value: Any, members: list[Member], path: str = "") -> dict[str, Any]:
    """The properties of a parsed object; those that are not known are ignored."""
    if not isinstance(value, dict):
        raise Misfit(path, f"{_show(value)} is no object")
    values = {}
    for member in members:
        if member.name in value:
            values[member.name] = convert(value[member.name], member.hint, _at(path, member.name))
        elif member.required:
            raise Misfit(_at(path, member.name), "is missing")
    return values


def _at(path: str, part: str | int) -> str:
    return f"{path}.{part}" if path else str(part)


def _show(value: Any) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else "a text"
    return {dict: "an object", list: "a list", bool: str(value).lower()}.get(type(value), "null")


def _read_str(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise Misfit(path, f"{_show(value)} is no text")
    return value


def _read_bool(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise Misfit(path, f"{_show(value)} is neither true nor false")
    return value


def _number(read: Any) -> Any:
    def reader(value: Any, path: str) -> Any:
        if not isinstance(value, Number):
            raise Misfit(path, f"{_show(value)} is no number")
        try:
            return read(value)
        except (ValueError, ArithmeticError) as error:
            raise Misfit(path, str(error)) from None

    return reader


def _read_none(value: Any, path: str) -> None:
    if value is not None:
        raise Misfit(path, f"{_show(value)} is not null")


def _read_raw(value: Any, path: str) -> RawJson:
    return RawJson(dumps(value))


def _read_bytes(value: Any, path: str) -> bytes:
    try:
        return base64.b64decode(_read_str(value, path), validate=True)
    except binascii.Error:
        raise Misfit(path, "is no base64") from None


def _iso(kind: Any) -> Any:
    def reader(value: Any, path: str) -> Any:
        text = _read_str(value, path)
        try:
            return kind.fromisoformat(text)
        except ValueError:
            raise Misfit(path, f"{text!r} is no {kind.__name__}") from None

    return reader


_READERS: dict[Any, Any] = {
    str: _read_str,
    bool: _read_bool,
    int: _number(int),
    float: _number(float),
    Decimal: _number(Number.decimal),
    Number: _number(lambda number: number),
    type(None): _read_none,
    RawJson: _read_raw,
    bytes: _read_bytes,
    datetime.datetime: _iso(datetime.datetime),
    datetime.date: _iso(datetime.date),
    datetime.time: _iso(datetime.time),
}


def read(what: str, text: str, hint: Any) -> Any:
    """JSON text as what a type hint names; the error says what it was."""
    try:
        return convert(parse(text), hint)
    except (ValueError, RecursionError) as error:
        raise HostError(f"{what}: {error}") from None

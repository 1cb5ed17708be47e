"""Type hints become schemas, and JSON becomes what they name."""

import datetime
import enum
import unittest
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

from toolgate_sdk import HostError, Json, Number, RawJson, ToolContext, ToolResult, tool
from toolgate_sdk._types import convert, read, schema_of, split_docstring
from toolgate_sdk._json import parse


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """A place.

    Attributes:
        x: To the right.
    """

    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    name: str
    children: "list[Node]" = field(default_factory=list)


class Options(TypedDict):
    depth: int
    all: NotRequired[bool]


class Schemas(unittest.TestCase):
    def test_types_of_every_kind(self) -> None:
        for hint, expected in (
            (str, {"type": "string"}),
            (int, {"type": "integer"}),
            (Decimal, {"type": "number"}),
            (Number, {"type": "number"}),
            (Any, {}),
            (bytes, {"type": "string", "contentEncoding": "base64"}),
            (datetime.date, {"type": "string", "format": "date"}),
            (Optional[int], {"type": ["integer", "null"]}),
            (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            (Union[Point, None], {**schema_of(Point), "type": ["object", "null"]}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Colour, {"type": "string", "enum": ["red", "blue"]}),
            (list[int], {"type": "array", "items": {"type": "integer"}}),
            (list, {"type": "array"}),
            (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
            (dict[str, Any], {"type": "object"}),
            (Annotated[int, "How many.", {"minimum": 1}], {"type": "integer", "description": "How many.", "minimum": 1}),
            (
                Point,
                {
                    "type": "object",
                    "properties": {
                        "x": {"type": "number", "description": "To the right."},
                        "y": {"type": "number", "default": 0.0},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["x"],
                },
            ),
            (
                Options,
                {"type": "object", "properties": {"depth": {"type": "integer"}, "all": {"type": "boolean"}}, "required": ["depth"]},
            ),
        ):
            with self.subTest(hint=hint):
                self.assertEqual(schema_of(hint), expected)

    def test_a_type_that_holds_itself_gets_a_name(self) -> None:
        schema = schema_of(Node)
        self.assertEqual(schema["$ref"], "#/$defs/Node")
        self.assertEqual(schema["$defs"]["Node"]["properties"]["children"]["items"], {"$ref": "#/$defs/Node"})
        tree = convert(parse('{"name": "a", "children": [{"name": "b"}]}'), Node)
        self.assertEqual(tree, Node("a", [Node("b")]))

    def test_what_has_no_schema_is_an_error(self) -> None:
        for hint in (complex, dict[int, str], type):
            with self.assertRaises(TypeError):
                schema_of(hint)

    def test_a_signature_is_the_parameters(self) -> None:
        @tool(label="L", closed=True)
        def find(path: str, cx: ToolContext, *, limit: Annotated[int, {"maximum": 9}] = 3, note: str | None = None) -> str:
            """Finds things.

            Use it often.

            Args:
                path (str): Where to look,
                    to the end.
                note: For yourself.

            Returns:
                What it found.
            """
            return path

        definition = find.definition()
        self.assertEqual(definition.name, "find")
        self.assertEqual(definition.description, "Finds things.\n\nUse it often.\n\nReturns:\n    What it found.")
        self.assertEqual(
            definition.parameters,
            {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where to look, to the end."},
                    "limit": {"type": "integer", "maximum": 9, "default": 3},
                    "note": {"type": "string", "description": "For yourself."},
                },
                "required": ["path"],
                "additionalProperties": False,
            },
        )

    def test_all_arguments_may_be_one_value(self) -> None:
        @tool(arguments=Options)
        def look(args: Options) -> str:
            """Looks."""
            return str(args["depth"])

        @tool(arguments=dict)
        def anything(args: dict[str, Any]) -> str:
            """Takes anything."""
            return str(args)

        self.assertEqual(look.definition().parameters, schema_of(Options))
        self.assertEqual(anything.definition().parameters, {"type": "object"})

    def test_a_return_type_that_is_an_object_is_the_output(self) -> None:
        @tool
        def point() -> Point:
            """Makes a point."""
            return Point(1)

        @tool
        def points() -> Json[list[Point]]:
            """Makes points."""
            return Json([Point(1)])

        @tool
        def whole() -> ToolResult:
            """Makes a result."""
            return ToolResult("x")

        self.assertEqual(point.definition().output, schema_of(Point))
        self.assertIsNone(points.definition().output)
        self.assertIsNone(whole.definition().output)

    def test_functions_that_can_be_no_tool(self) -> None:
        with self.assertRaisesRegex(TypeError, "async"):

            @tool
            async def waits() -> str:
                """Waits."""
                return ""

        with self.assertRaisesRegex(TypeError, "rest"):

            @tool
            def takes(*rest: str) -> str:
                """Takes."""
                return ""

    def test_a_docstring_without_arguments(self) -> None:
        self.assertEqual(split_docstring("\n    One.\n\n    Two: three.\n    "), ("One.\n\nTwo: three.", {}))
        self.assertEqual(split_docstring(None), ("", {}))


class Conversions(unittest.TestCase):
    def test_values_of_every_kind(self) -> None:
        for text, hint, expected in (
            ("3", int, 3),
            ("50.0", int, 50),
            ("1e3", int, 1000),
            ("18446744073709551616", int, 18446744073709551616),
            ("0.1", float, 0.1),
            ("0.10", Decimal, Decimal("0.10")),
            ("1e400", Number, Number("1e400")),
            ('"red"', Colour, Colour.RED),
            ('"a"', Literal["a", "b"], "a"),
            ("null", Optional[int], None),
            ('"x"', int | str, "x"),
            ("1.5", int | float, 1.5),
            ('{"x": 1}', Point, Point(1.0)),
            ('{"depth": 1, "more": 2}', Options, {"depth": 1}),
            ("[1, [2.50]]", Any, [1, [Decimal("2.50")]]),
            ('["2026-01-31"]', list[datetime.date], [datetime.date(2026, 1, 31)]),
            ('"AP8="', bytes, b"\x00\xff"),
            ('{"a": [1.0]}', RawJson, RawJson('{"a":[1.0]}')),
            ("[1, true]", tuple[int, bool], (1, True)),
        ):
            with self.subTest(text=text, hint=hint):
                found = read("x", text, hint)
                self.assertEqual(found, expected)
                self.assertIs(type(found), type(expected))

    def test_a_misfit_names_its_place(self) -> None:
        for text, hint, message in (
            ('{"x": "a"}', Point, "`x`: 'a' is no number"),
            ("{}", Point, "`x`: is missing"),
            ('[{"x": 1}, {"x": 1, "tags": [1]}]', list[Point], "`1.tags.0`: 1 is no text"),
            ("3.5", int, "3.5 is no integer"),
            ("1e400", float, "too large"),
            ("true", int, "true is no number"),
            ("1", bool, "neither true nor false"),
            ('"green"', Colour, "none of 'red', 'blue'"),
            ("{", dict, "Expecting"),
            ("NaN", float, "NaN is no JSON"),
            ("1e999999999", int, "no integer"),
        ):
            with self.subTest(text=text, hint=hint), self.assertRaisesRegex(HostError, message):
                read("It does not fit", text, hint)


if __name__ == "__main__":
    unittest.main()

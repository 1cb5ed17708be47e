"""JSON keeps its digits."""

import datetime
import unittest
from dataclasses import dataclass
from decimal import Decimal

from toolgate_sdk import Number, RawJson, dumps, loads


@dataclass
class Pair:
    a: int
    b: list[str]


class Digits(unittest.TestCase):
    def test_what_is_read_is_written_again(self) -> None:
        for text in ("9007199254740993", "18446744073709551615", "0.10", "-1.50", '{"z":1,"a":[true,null,"é\\n"]}', "[]", '""'):
            self.assertEqual(dumps(loads(text)), text)

    def test_values_of_every_kind(self) -> None:
        for value, expected in (
            (Number("1e400"), "1e400"),
            (Number("-0"), "-0"),
            (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
            (RawJson('{"a": 1.0}'), '{"a": 1.0}'),
            (Pair(1, ["x"]), '{"a":1,"b":["x"]}'),
            ((1, {"k": None}), '[1,{"k":null}]'),
            (datetime.date(2026, 1, 31), '"2026-01-31"'),
            (b"\x00\xff", '"AP8="'),
            (True, "true"),
            (0.1, "0.1"),
        ):
            self.assertEqual(dumps(value), expected)

    def test_what_is_no_json(self) -> None:
        for value in (float("nan"), Decimal("Infinity"), {1: 2}, object(), Pair):
            with self.assertRaises((TypeError, ValueError)):
                dumps(value)
        with self.assertRaises(ValueError):
            loads("[Infinity]")


if __name__ == "__main__":
    unittest.main()

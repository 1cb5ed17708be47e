"""What the build finds out before it builds."""

import os
import tempfile
import unittest
from pathlib import Path

from toolgate_sdk import build

ROOT = Path(__file__).resolve().parents[3]


class Inspect(unittest.TestCase):
    def inspect(self, source: str) -> tuple[list[object], bool, bool]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "some_plugin.py").write_text(source, encoding="utf-8")
            return build.inspect("some_plugin", [Path(folder)])

    def test_tools_and_hooks_are_found(self) -> None:
        only_tool = "from toolgate_sdk import tool\n@tool\ndef a(n: int) -> str:\n    'Does.'\n    print('noise')\n    return ''\n"
        definitions, tools, hooks = self.inspect(only_tool)
        self.assertEqual((tools, hooks), (True, False))
        self.assertEqual(definitions[0]["name"], "a")
        only_hook = "from toolgate_sdk import settled\n@settled\ndef a(cx):\n    pass\n"
        self.assertEqual(self.inspect(only_hook)[1:], (False, True))
        later = "from toolgate_sdk import tools, Host\n@tools\ndef make():\n    return [] if Host().config()['x'] else []\n"
        self.assertEqual(self.inspect(later), ([], True, False))

    def test_mistakes_are_told_with_their_place(self) -> None:
        with self.assertRaisesRegex(build.BuildError, "(?s)some_plugin.py.*line 3.*complex"):
            self.inspect("from toolgate_sdk import tool\n\n@tool\ndef a(n: complex) -> str:\n    return ''\n")
        with self.assertRaisesRegex(build.BuildError, "neither tools nor hooks"):
            self.inspect("x = 1\n")
        with self.assertRaisesRegex(build.BuildError, "No module named"):
            build.inspect("not_there_at_all", [])

    def test_the_contract_is_the_released_one(self) -> None:
        released = ROOT / "wit/released/0.1.0/plugin"
        if not released.is_dir():
            self.skipTest("not in the repository")
        own = Path(build.__file__).parent / "wit"
        self.assertEqual(sorted(os.listdir(own)), sorted(os.listdir(released)))
        for file in released.iterdir():
            self.assertEqual((own / file.name).read_bytes(), file.read_bytes(), file.name)


if __name__ == "__main__":
    unittest.main()

"""What the build finds out before it builds."""

import os
import tempfile
import unittest
from pathlib import Path

from toolgate_sdk import build

ROOT = Path(__file__).resolve().parents[3]


class Inspect(unittest.TestCase):
    def inspect(self, source: str) -> build.Plugin:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "some_plugin.py").write_text(source, encoding="utf-8")
            return build.inspect("some_plugin", [Path(folder)])

    def test_tools_and_hooks_are_found(self) -> None:
        only_tool = "from toolgate_sdk import tool\n@tool\ndef a(n: int) -> str:\n    'Does.'\n    print('noise')\n    return ''\n"
        plugin = self.inspect(only_tool)
        self.assertEqual((plugin.has_tools, plugin.has_hooks), (True, False))
        self.assertEqual(plugin.definitions[0]["name"], "a")
        plugin = self.inspect("from toolgate_sdk import settled\n@settled\ndef a(cx):\n    pass\n")
        self.assertEqual((plugin.has_tools, plugin.has_hooks), (False, True))
        later = "from toolgate_sdk import tools, Host\n@tools\ndef make():\n    return [] if Host().config()['x'] else []\n"
        plugin = self.inspect(later)
        self.assertEqual((plugin.definitions, plugin.has_tools, plugin.has_hooks), ([], True, False))

    def test_only_what_is_imported_goes_into_the_component(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder, "project")
            for file, text in {
                "some_plugin.py": "import csv\nimport helpers.words\nfrom toolgate_sdk import tool\n"
                "@tool\ndef a() -> str:\n    'Does.'\n    import colorsys\n    import not_there\n    from later import x\n    return x\n",
                "later.py": "x = ''\n",
                "helpers/__init__.py": "",
                "helpers/words.py": "",
                "unrelated.py": "",
            }.items():
                (project / file).parent.mkdir(parents=True, exist_ok=True)
                (project / file).write_text(text, encoding="utf-8")
            plugin = build.inspect("some_plugin", [project])
            self.assertEqual(sorted(plugin.modules), ["helpers", "later", "some_plugin"])
            self.assertEqual(plugin.late, ["colorsys", "later", "toolgate_sdk"])
            app = Path(folder, "app")
            app.mkdir()
            build._copy_modules(plugin, app)
            copied = sorted(str(file.relative_to(app)) for file in app.rglob("*.py"))
            self.assertEqual(copied, ["helpers/__init__.py", "helpers/words.py", "later.py", "some_plugin.py"])
            (project / "helpers/fast.so").write_bytes(b"")
            with self.assertRaisesRegex(build.BuildError, "`helpers` has compiled parts"):
                build._copy_modules(plugin, app)

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

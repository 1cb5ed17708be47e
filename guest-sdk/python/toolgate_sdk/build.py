"""Builds a plugin as a component: `python -m toolgate_sdk.build [MODULE] [-o FILE]`.

MODULE is the module with the tools and hooks; by default what `[tool.toolgate] module = ".."` in pyproject.toml says, else
`plugin`. It is imported natively first: that finds mistakes in a moment, tells whether there are tools, hooks or both, and
which modules beside the standard library's the component needs: those and nothing else are put into it. In the component
there is no folder to import from, so modules that the project's own functions import are loaded at the build too.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
from pathlib import Path
from typing import Any

_SDK = Path(__file__).resolve().parent
_PINNED = "componentize-py==0.25.1"
# Not the name of a world: componentize-py makes modules of those.
_ENTRY = "toolgate_component"


class BuildError(Exception):
    """Why nothing was built, and what to do."""


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m toolgate_sdk.build", description="Builds a Toolgate plugin as a component.")
    parser.add_argument("module", nargs="?", help="the module with the tools and hooks (default: from pyproject.toml, else `plugin`)")
    parser.add_argument("-o", "--output", type=Path, help="the file to write (default: dist/NAME.wasm)")
    parser.add_argument("-p", "--path", type=Path, action="append", default=[], help="a folder to import from (default: src, if there is one, and .)")
    parser.add_argument("--check", action="store_true", help="only import the module and show its definitions")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            plugin = inspect(options.module or _project()[0], options.path or default_paths())
            print(json.dumps(plugin.definitions, indent=2, ensure_ascii=False))
        else:
            print(build(options.module, options.output, options.path))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _project() -> tuple[str, str]:
    """The module, and the name of the component."""
    project: dict[str, object] = {}
    settings: dict[str, object] = {}
    if Path("pyproject.toml").is_file():
        parsed = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
        project, settings = parsed.get("project", {}), parsed.get("tool", {}).get("toolgate", {})
    module = str(settings.get("module", "plugin"))
    return module, str(project.get("name", module.replace(".", "-")))


def default_paths() -> list[Path]:
    """Where a project's modules are."""
    return [path for path in (Path("src"), Path(".")) if path.is_dir()]


class Plugin:
    """What the import of a plugin tells."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.definitions: list[Any] = report["definitions"]
        """Of the tools that need no settings."""
        self.has_tools: bool = report["tools"]
        self.has_hooks: bool = report["hooks"]
        self.modules: dict[str, list[str]] = report["modules"]
        """The top-level modules it imports beside the standard library's: their file, or the folders of a package."""
        self.late: list[str] = report["late"]
        """What its functions import."""


def inspect(module: str, paths: list[Path]) -> Plugin:
    """Imports the plugin in a process of its own."""
    program = f"import toolgate_sdk.build as build; build._report({module!r})"
    path = os.pathsep.join([*(str(path.resolve()) for path in paths), str(_SDK.parent), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if found.returncode:
        raise BuildError(f"The module `{module}` can't be imported:\n{found.stderr.rstrip()}")
    plugin = Plugin(json.loads(found.stdout.splitlines()[-1]))
    if not plugin.has_tools and not plugin.has_hooks:
        raise BuildError(f"The module `{module}` has neither tools nor hooks: mark a function with toolgate_sdk's `tool`.")
    return plugin


def _report(module: str) -> None:
    """In the process that `inspect` starts."""
    from . import _hook, _tool, testing
    from ._json import dumps

    before = set(sys.modules)
    try:
        importlib.import_module(module)
    except Exception as error:
        # Without the frames of this file and of the import machinery.
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename and f.filename != __file__]
        sys.exit("".join([*traceback.format_list(frames), *traceback.format_exception_only(error)]))
    late = _late_imports(set(sys.modules) - before)
    definitions = []
    with testing.host():
        for make in _tool._registered:
            try:
                definitions += [tool.definition() for tool in make()]
            except Exception as error:
                print(f"Tools that are made at run time: not looked at ({error})", file=sys.stderr)
    described = [
        {key: value for key, value in vars(definition).items() if value not in (None, (), False)} for definition in definitions
    ]
    modules: dict[str, list[str]] = {}
    for name in set(sys.modules) - before:
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == "toolgate_sdk" or top in modules:
            continue
        there = sys.modules.get(top)
        places = list(getattr(there, "__path__", [])) or [getattr(there, "__file__", None)]
        modules[top] = [str(place) for place in places if place]
    print()
    report = {"tools": _tool.has_tools(), "hooks": _hook.has_hooks(), "modules": modules, "late": late}
    print(dumps({"definitions": described, **report}))


def _late_imports(modules: set[str]) -> list[str]:
    """What the project's own modules import anywhere, as far as it is there; imported here, too."""
    found = set()
    for name in modules:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file is None or "-packages" in file or name.partition(".")[0] in {*sys.stdlib_module_names, "toolgate_sdk"}:
            continue
        try:
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                package = getattr(module, "__package__", None)
                if node.level == 0 or package:
                    found.add(_absolute("." * node.level + (node.module or ""), package))
    there = []
    for name in sorted(found - modules - {"", "__future__"}):
        try:
            importlib.import_module(name)
        except Exception:
            continue
        there.append(name)
    return there


def _absolute(name: str, package: str | None) -> str:
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:
        return ""


def _copy_modules(plugin: Plugin, into: Path) -> None:
    for name, places in sorted(plugin.modules.items()):
        for place in map(Path, places):
            compiled = [place] if place.suffix in (".so", ".pyd") else [*place.glob("**/*.so"), *place.glob("**/*.pyd")]
            if compiled:
                raise BuildError(f"The module `{name}` has compiled parts ({compiled[0].name}), which can't be in a component.")
            if place.is_dir():
                shutil.copytree(place, into / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                shutil.copyfile(place, into / place.name)


def _componentize() -> list[str]:
    if importlib.util.find_spec("componentize_py") is not None:
        script = Path(sys.executable).with_name("componentize-py")
        return [str(script)] if script.is_file() else [sys.executable, "-m", "componentize_py"]
    found = shutil.which("componentize-py")
    if found is None:
        raise BuildError(f"componentize-py is missing. Install it with: {sys.executable} -m pip install {_PINNED}")
    return [found]


def build(module: str | None = None, output: Path | None = None, paths: list[Path] | None = None) -> Path:
    """Builds the component and returns its file."""
    default_module, name = _project()
    if module is not None and module != default_module:
        name = module.replace(".", "-")
    module = module or default_module
    plugin = inspect(module, paths or default_paths())
    world = "plugin" if plugin.has_tools and plugin.has_hooks else "tool-plugin" if plugin.has_tools else "hook-plugin"
    output = output or Path("dist") / f"{name}.wasm"
    command = _componentize()
    with tempfile.TemporaryDirectory() as folder:
        work, app = Path(folder), Path(folder, "app")
        app.mkdir()
        _copy_modules(plugin, app)
        leave = shutil.ignore_patterns("__pycache__", "wit", "build.py", "testing.py")
        shutil.copytree(_SDK, app / "toolgate_sdk", ignore=leave)
        exports = ", ".join(name for name, there in (("Tools", plugin.has_tools), ("Hooks", plugin.has_hooks)) if there)
        (app / f"{_ENTRY}.py").write_text(
            f"import importlib\nimport toolgate_sdk._export\nimport {module}\nfrom toolgate_sdk._export import {exports}\n"
            f"for name in {plugin.late!r}:\n    try:\n        importlib.import_module(name)\n    except Exception:\n        pass\n",
            encoding="utf-8",
        )
        # componentize-py adds the installed packages to the path; these are none.
        (work / "venv/lib/python3/site-packages").mkdir(parents=True)
        component = work / "component.wasm"
        done = subprocess.run(
            [*command, "-q", "-d", str(_SDK / "wit"), "-w", world, "componentize", "-p", str(app), _ENTRY, "-o", str(component)],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "VIRTUAL_ENV": str(work / "venv")},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise BuildError(f"componentize-py failed:\n{(done.stderr or done.stdout).rstrip()}")
        output.parent.mkdir(parents=True, exist_ok=True)
        # In one step, so that a reader never sees half a file.
        partial = output.with_name(f".{output.name}.new")
        shutil.copyfile(component, partial)
        os.replace(partial, output)
    return output


if __name__ == "__main__":
    sys.exit(main())

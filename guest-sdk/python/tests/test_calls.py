"""Tools and hooks as the host calls them, and the host that tests have."""

import logging
import unittest
from dataclasses import dataclass
from typing import Any

from toolgate_sdk import (
    AfterContext,
    BeforeContext,
    Cancelled,
    Decision,
    Host,
    HostError,
    Image,
    Json,
    Override,
    Scope,
    Text,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    log,
    testing,
    tool,
)
from toolgate_sdk import _hook
from toolgate_sdk._content import to_result
from toolgate_sdk._errors import describe


@tool(prepare_arguments=lambda old: {"name": old.get("who", old.get("name"))})
def greet(name: str, cx: ToolContext, times: int = 1) -> str:
    """Greets."""
    cx.update("half")
    log.info("greeting")
    return f"{cx.config_key('greeting', str) or 'hello'} {name}" * times


@dataclass
class Point:
    x: int


class Tools(unittest.TestCase):
    def test_a_call(self) -> None:
        with testing.host(config={"greeting": "hi"}) as host:
            self.assertEqual(host.call(greet, {"who": "Ada"}).joined_text(), "hi Ada")
            self.assertEqual([update.joined_text() for update in host.updates], ["half"])
            self.assertEqual(host.logs, [("info", "greeting")])
            self.assertEqual(greet("Bob", host.context(), times=2), "hi Bobhi Bob")

    def test_arguments_that_do_not_fit(self) -> None:
        with testing.host() as host, self.assertRaisesRegex(HostError, "Invalid arguments: `name`"):
            host.call(greet, {"name": 1})

    def test_what_may_be_returned(self) -> None:
        image = Image(b"x", "image/png")
        for answer, blocks, structured in (
            ("a", [Text("a")], None),
            (None, [], None),
            (image, [image], None),
            (["a", image], [Text("a"), image], None),
            ({"x": 1}, [Text('{"x":1}')], '{"x":1}'),
            (Point(1), [Text('{"x":1}')], '{"x":1}'),
            (Json([1]), [Text("[1]")], "[1]"),
            (ToolResult("a", details=None), [Text("a")], None),
        ):
            with self.subTest(answer=answer):
                result = to_result(answer)
                self.assertEqual(result.blocks(), blocks)
                if structured is not None:
                    self.assertEqual(result.structured_content.text, structured)
        for answer in (1, [1], object()):
            with self.subTest(answer=answer), self.assertRaises(TypeError):
                to_result(answer)

    def test_how_an_exception_reads(self) -> None:
        def caused() -> Exception:
            try:
                try:
                    int("x")
                except ValueError as error:
                    raise ToolError("bad port") from error
            except ToolError as error:
                return error

        for error, text in (
            (ToolError("no"), "no"),
            (ValueError("out of range"), "out of range"),
            (KeyError("k"), "KeyError: 'k'"),
            (ZeroDivisionError(), "ZeroDivisionError"),
            (FileNotFoundError(2, "No such file or directory", "/x"), "/x: No such file or directory"),
            (caused(), "bad port: invalid literal for int() with base 10: 'x'"),
        ):
            self.assertEqual(describe(error), text)


class Hosts(unittest.TestCase):
    def test_state_counts_keeps_and_forgets(self) -> None:
        with testing.host() as host:
            state = host.context().state(Scope.TURN)
            self.assertEqual(state.add("n", 2), 2.0)
            self.assertEqual(state.add("n", 0.5), 2.5)
            self.assertEqual(state.get("n", float), 2.5)
            self.assertIsNone(host.context().state(Scope.CONVERSATION).get("n"))
            state.set("point", Point(3))
            self.assertEqual(state.get("point", Point), Point(3))
            with self.assertRaisesRegex(HostError, "`point`"):
                state.get("point", int)
            with self.assertRaises(HostError):
                state.add("point", 1)
            state.remove("point")
            self.assertIsNone(state.get("point"))

    def test_settings(self) -> None:
        with testing.host(config={"x": 7, "other": "a"}):
            self.assertEqual(Host().config(Point), Point(7))
            self.assertEqual(Host().config(), {"x": 7, "other": "a"})
            self.assertEqual(Host().config_json(), '{"x":7,"other":"a"}')
            self.assertIsNone(Host().config_key("none"))
            with self.assertRaisesRegex(HostError, "`other`"):
                Host().config_key("other", int)
        with self.assertRaisesRegex(HostError, "no host"):
            Host().config()

    def test_a_wait_ends_with_the_batch(self) -> None:
        with testing.host() as host:
            cx = host.context()
            cx.wait(0.001)
            cx.check_cancelled()
            host.cancel_in = 5
            cx.wait(3)
            with self.assertRaises(Cancelled):
                cx.wait(3)
            self.assertTrue(cx.is_cancelled())
            with self.assertRaises(Cancelled):
                cx.check_cancelled()

    def test_logging_writes_the_hosts_log(self) -> None:
        logger = logging.Logger("x", 1)
        logger.addHandler(log.Handler())
        with testing.host() as host:
            logger.warning("%d left", 3)
            logger.log(log.TRACE, "step")
            self.assertEqual(host.logs, [("warn", "3 left"), ("trace", "step")])


def before(*decisions: Any) -> list[_hook.Subscription]:
    def asks(decision: Any) -> Any:
        return (lambda cx: decision(cx)) if callable(decision) else (lambda cx: decision)

    return [_hook.Subscription("before", asks(decision), ["t"]) for decision in decisions]


def decide(*decisions: Any, tool: str = "t") -> Decision:
    return _hook.before(before(*decisions), BeforeContext(ToolCall("c", tool, "{}"), "{}"))


class Hooks(unittest.TestCase):
    def test_before_hooks_of_one_plugin_act_one_after_another(self) -> None:
        replace, block = Decision.replace({"n": 1}), Decision.block("no", terminate=True)
        ask, pay = Decision.ask("Sure?", "It deletes."), Decision.ask("Pay?", "One euro.")

        def look(cx: BeforeContext) -> Decision | None:
            return Decision.block("saw it") if cx.parse_arguments() == {"n": 1} else None

        self.assertEqual(decide(replace, look), Decision.block("saw it"))
        self.assertEqual(decide(look, look), Decision.allow())
        self.assertEqual(decide(replace).arguments.text, '{"n":1}')
        self.assertEqual(decide(ask, block), block)
        self.assertEqual(decide(ask, replace, block), block)
        self.assertEqual(decide(ask, pay), Decision.ask("Sure?; Pay?", "It deletes.\n\nOne euro."))
        self.assertEqual(decide(block, tool="other"), Decision.allow())
        for hooks in ((ask, replace), (replace, ask)):
            with self.assertRaises(HostError):
                decide(*hooks)
        with self.assertRaises(TypeError):
            decide("block")

    def test_overrides_add_up_as_if_done_one_after_another(self) -> None:
        def data(cx: AfterContext) -> Override:
            return Override(structured_content=1, is_error=True, details=None)

        def redact(cx: AfterContext) -> Override:
            return Override(content=f"{cx.result.joined_text()} {cx.result.structured_content} {cx.is_error}")

        def after(*hooks: Any) -> Override | None:
            result = ToolResult("secret", structured_content=0)
            subscriptions = [_hook.Subscription("after", hook, None) for hook in hooks]
            return _hook.after(subscriptions, AfterContext(ToolCall("c", "t", "{}"), "{}", result, False))

        self.assertEqual(after(data, redact), Override(content="secret 1 True", is_error=True, details=None))
        self.assertEqual(after(redact, data), Override(content="secret 0 False", structured_content=1, is_error=True, details=None))
        self.assertIsNone(after())

    def test_a_hook_in_a_test(self) -> None:
        def gate(cx: BeforeContext) -> Decision | None:
            return Decision.block("no") if "rm" in cx.parse_arguments()["command"] else None

        with testing.host() as host:
            self.assertEqual(host.before(gate, "bash", {"command": "rm x"}), Decision.block("no"))
            self.assertEqual(host.before(gate, "bash", {"command": "ls"}), Decision.allow())


if __name__ == "__main__":
    unittest.main()

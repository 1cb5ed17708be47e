"""The border to the contract: a component's exports, the host's side through its imports, and the conversions between. Only
there while a component is built and inside of it: `wit_world` is what componentize-py makes of the contract."""

from __future__ import annotations

import logging
import random
import traceback
from typing import Any

from componentize_py_types import Err  # type: ignore[import-not-found]
from wit_world.imports import batch, cancellation, config, state, types  # type: ignore[import-not-found]
from wit_world.imports import log as contract_log

from . import _content, _hook, _host, _tool, log
from ._content import NOT_GIVEN
from ._errors import Cancelled, HostError, ToolError, describe
from ._json import RawJson, dumps

try:  # A component without tools has no such import.
    from wit_world.imports import progress
except ImportError:
    progress = None
try:
    from wit_world.exports import tools as contract_tools  # type: ignore[import-not-found]
except ImportError:
    contract_tools = None
try:
    from wit_world.exports import hooks as contract_hooks
except ImportError:
    contract_hooks = None


def _valid(text: str) -> str:
    """The text without lone surrogates, which are no UTF-8 and would trap."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _json(value: Any) -> str | None:
    return None if value is NOT_GIVEN else _valid(dumps(value))


def _optional(value: Any) -> str | None:
    return None if value is None else _valid(dumps(value))


def _scope(scope: _host.Scope) -> Any:
    return state.Scope[scope.name]


class _Contract:
    """The host's side."""

    def update(self, partial: _content.ToolResult) -> None:
        if progress is not None:
            progress.update(_to_result(partial))

    def is_cancelled(self) -> bool:
        return bool(cancellation.is_cancelled())

    def wait(self, milliseconds: int) -> bool:
        return bool(cancellation.wait(milliseconds))

    def write_log(self, level: str, message: str) -> None:
        contract_log.write(contract_log.Level[level.upper()], _valid(message))

    def state_get(self, scope: _host.Scope, key: str) -> bytes | None:
        value = state.get(_scope(scope), _valid(key))
        return None if value is None else bytes(value)

    def state_set(self, scope: _host.Scope, key: str, value: bytes) -> None:
        try:
            state.set(_scope(scope), _valid(key), value)
        except Err as error:
            raise HostError(error.value) from None

    def state_remove(self, scope: _host.Scope, key: str) -> None:
        state.remove(_scope(scope), _valid(key))

    def state_add(self, scope: _host.Scope, key: str, delta: float) -> float:
        try:
            return float(state.add(_scope(scope), _valid(key), delta))
        except Err as error:
            raise HostError(error.value) from None

    def config_get(self, key: str) -> str | None:
        return config.get(_valid(key))  # type: ignore[no-any-return]

    def config_all(self) -> str:
        return config.all()  # type: ignore[no-any-return]

    def position(self) -> int:
        return batch.position()  # type: ignore[no-any-return]

    def size(self) -> int:
        return batch.size()  # type: ignore[no-any-return]

    def turn(self) -> str:
        return batch.turn()  # type: ignore[no-any-return]

    def conversation(self) -> str:
        return batch.conversation()  # type: ignore[no-any-return]

    def assistant_message(self) -> str:
        return batch.assistant_message()  # type: ignore[no-any-return]


_host.set_backend(_Contract())
logging.basicConfig(handlers=[log.Handler()], level=1, format="%(message)s", force=True)


def _enter() -> None:
    # The generator was seeded when the component was built; each instance would give the same numbers.
    random.seed()


def _fail_load(error: BaseException) -> None:
    """Of what has no other way to fail. A trap carries no text; the host takes the message from the last log line that starts
    with these words."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"
    log.error(f"panicked at {place}: {describe(error)}")


def _failure(error: BaseException) -> str:
    """An exception as the model reads it. MemoryError is left to trap: the host knows it for its own limit."""
    if isinstance(error, MemoryError):
        raise error
    return _valid(describe(error))


def _note(error: BaseException) -> None:
    """Where an exception that nobody raised on purpose came from, for the author."""
    if not isinstance(error, (ToolError, HostError)):
        log.debug("".join(traceback.format_exception(error)).rstrip())


def _to_content(blocks: list[Any]) -> list[Any]:
    return [_to_block(block) for block in blocks]


def _to_block(block: Any) -> Any:
    annotations, meta = _optional(block.annotations), _optional(block.meta)
    if isinstance(block, _content.Text):
        return types.ContentBlock_Text(types.Text(_valid(block.text), annotations, meta))
    if isinstance(block, (_content.Image, _content.Audio)):
        media = types.Media(bytes(block.data), _valid(block.mime_type), annotations, meta)
        return (types.ContentBlock_Image if isinstance(block, _content.Image) else types.ContentBlock_Audio)(media)
    if isinstance(block, _content.ResourceLink):
        return types.ContentBlock_ResourceLink(
            types.ResourceLink(
                _valid(block.uri),
                _valid(block.name),
                _text(block.title),
                _text(block.description),
                _text(block.mime_type),
                None if block.size is None else float(block.size),
                annotations,
                meta,
            )
        )
    if isinstance(block.body, str):
        body = types.ResourceBody_Text(_valid(block.body))
    else:
        body = types.ResourceBody_Blob(bytes(block.body))
    return types.ContentBlock_EmbeddedResource(
        types.EmbeddedResource(_valid(block.uri), _text(block.mime_type), body, annotations, meta)
    )


def _text(text: str | None) -> str | None:
    return None if text is None else _valid(text)


def _to_result(result: _content.ToolResult) -> Any:
    return types.ToolResult(
        _to_content(result.blocks()),
        _json(result.details),
        _json(result.structured_content),
        _json(result.usage),
        bool(result.is_error),
        result.terminate,
        None if result.added_tool_names is None else [_valid(name) for name in result.added_tool_names],
    )


def _from_json(text: str | None) -> Any:
    return NOT_GIVEN if text is None else RawJson(text)


def _from_optional(text: str | None) -> Any:
    return None if text is None else RawJson(text)


def _from_block(block: Any) -> Any:
    value = block.value
    extras = {"annotations": _from_optional(value.annotations), "meta": _from_optional(value.meta)}
    if isinstance(block, types.ContentBlock_Text):
        return _content.Text(value.text, **extras)
    if isinstance(block, types.ContentBlock_Image):
        return _content.Image(bytes(value.data), value.mime_type, **extras)
    if isinstance(block, types.ContentBlock_Audio):
        return _content.Audio(bytes(value.data), value.mime_type, **extras)
    if isinstance(block, types.ContentBlock_ResourceLink):
        size = None if value.size is None else int(value.size)
        return _content.ResourceLink(
            value.uri, value.name, value.title, value.description, value.mime_type, size, **extras
        )
    body = value.body.value
    return _content.Resource(value.uri, body if isinstance(body, str) else bytes(body), value.mime_type, **extras)


def _from_result(result: Any) -> _content.ToolResult:
    return _content.ToolResult(
        [_from_block(block) for block in result.content],
        details=_from_json(result.details),
        structured_content=_from_json(result.structured_content),
        usage=_from_json(result.usage),
        is_error=result.is_error,
        terminate=result.terminate,
        added_tool_names=result.added_tool_names,
    )


def _from_call(call: Any) -> _content.ToolCall:
    return _content.ToolCall(call.id, call.name, call.arguments)


def _from_error(error: Any) -> _content.CallError | None:
    return None if error is None else _content.CallError(error.kind, error.stage)


def _to_definition(definition: _tool.Definition) -> Any:
    mode = definition.execution_mode
    return contract_tools.Definition(
        _valid(definition.name),
        _text(definition.label),
        _valid(definition.description),
        _valid(dumps(definition.parameters)),
        _optional(definition.output),
        None if mode is None else types.ExecutionMode[mode.upper()],
        [
            contract_tools.ExclusiveKey(_valid(key.pointer), key.is_path, contract_tools.Access[key.access.upper()])
            for key in definition.exclusive
        ],
        definition.prepares_arguments,
        contract_tools.Hints(definition.read_only, definition.destructive, definition.idempotent, definition.open_world),
        _optional(definition.meta),
    )


class Tools:
    """The contract's exports of tools."""

    def definitions(self) -> list[Any]:
        _enter()
        try:
            return [_to_definition(tool.definition()) for tool in _tool.all_tools()]
        except BaseException as error:
            _fail_load(error)
            raise

    def prepare_arguments(self, name: str, args: str) -> str:
        _enter()
        try:
            return _valid(_tool.prepare(_tool.find(name), args))
        except BaseException as error:
            _note(error)
            raise Err(_failure(error)) from None

    def execute(self, call: Any) -> Any:
        _enter()
        try:
            return _to_result(_tool.run(_tool.find(call.name), _from_call(call)))
        except Cancelled:
            raise Err(contract_tools.Failure_Cancelled()) from None
        except BaseException as error:
            _note(error)
            raise Err(contract_tools.Failure_Failed(_failure(error))) from None


_EVENTS = {"before": "BEFORE_TOOL_CALL", "after": "AFTER_TOOL_CALL", "settled": "SETTLED"}


class Hooks:
    """The contract's exports of hooks."""

    def subscriptions(self) -> list[Any]:
        _enter()
        try:
            return [
                contract_hooks.Subscription(
                    contract_hooks.Event[_EVENTS[hook.event]], None if hook.tools is None else list(hook.tools)
                )
                for hook in _hook.all_hooks()
            ]
        except BaseException as error:
            _fail_load(error)
            raise

    def before_tool_call(self, cx: Any) -> Any:
        _enter()
        try:
            decision = _hook.before(_hook.all_hooks(), _hook.BeforeContext(_from_call(cx.call), cx.arguments))
            if decision.kind == "replace":
                return contract_hooks.Decision_ReplaceArguments(_valid(dumps(decision.arguments)))
            if decision.kind == "block":
                return contract_hooks.Decision_Block(contract_hooks.Block(_text(decision.reason), decision.terminate))
            if decision.kind == "ask":
                return contract_hooks.Decision_Ask(contract_hooks.Question(_valid(decision.title), _valid(decision.text)))
            return contract_hooks.Decision_Allow()
        except BaseException as error:
            _note(error)
            raise Err(_failure(error)) from None

    def after_tool_call(self, cx: Any) -> Any:
        _enter()
        try:
            override = _hook.after(
                _hook.all_hooks(),
                _hook.AfterContext(
                    _from_call(cx.call), cx.arguments, _from_result(cx.tool_result), cx.is_error, _from_error(cx.error)
                ),
            )
            if override is None:
                return None
            return contract_hooks.Override(
                None if override.content is None else _to_content(_content.blocks(override.content)),
                _json(override.details),
                _json(override.structured_content),
                _json(override.usage),
                override.is_error,
                override.terminate,
            )
        except BaseException as error:
            _note(error)
            raise Err(_failure(error)) from None

    def settled(self, cx: Any) -> None:
        _enter()
        _hook.tell_settled(
            _hook.all_hooks(),
            _hook.SettledContext(
                _from_call(cx.call),
                cx.arguments,
                _from_result(cx.tool_result),
                cx.is_error,
                _from_error(cx.error),
                cx.duration_ms / 1000,
            ),
        )

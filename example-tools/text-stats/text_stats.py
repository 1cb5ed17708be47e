"""Statistics of a text, and a comparison of two. The example of a plugin in Python."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Annotated, Literal

from toolgate_sdk import ExclusiveKey, ToolContext, ToolError, ToolResult, tool

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]")
_VOWELS = re.compile(r"[aeiouy]+")
# What says nothing about a text.
_STOPWORDS = {
    "en": "a an and are as at be but by for from had has have he her his i in is it its not of on or she that the their they "
    "this to was we were will with you",
    "de": "aber als am an auch auf aus bei das dem den der des die ein eine einem einen einer er es für hat ich im in ist mit "
    "nicht noch nur oder sich sie sind so und uns von war was wie wird wir zu zum zur",
}
_WORDS_PER_MINUTE = 238  # Brysbaert (2019), silent reading of English non-fiction.


@dataclass
class WordCount:
    word: str
    count: int


@dataclass
class Statistics:
    characters: int
    bytes: int
    lines: int
    paragraphs: int
    sentences: int
    words: int
    distinct_words: int
    letters_per_word: float
    words_per_sentence: float
    reading_minutes: float
    reading_ease: float | None
    frequent: list[WordCount]


def _text_of(text: str | None, path: str | None) -> str:
    if (text is None) == (path is None):
        raise ToolError("give either text or path")
    if text is not None:
        return text
    try:
        return Path(str(path)).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is no UTF-8 text (byte {error.start})") from None


def syllables(word: str) -> int:
    """Of an English word, about."""
    count = len(_VOWELS.findall(word))
    if word.endswith("e") and not word.endswith(("le", "ee")) and count > 1:
        count -= 1
    return max(1, count)


@tool(
    name="text_stats",
    label="Text statistics",
    exclusive=ExclusiveKey("/path", "read", is_path=True),
    output=Statistics,
    read_only=True,
    idempotent=True,
    open_world=False,
)
def text_stats(
    cx: ToolContext,
    text: str | None = None,
    path: str | None = None,
    top: Annotated[int, {"minimum": 0, "maximum": 100}] = 10,
    language: Literal["en", "de", "other"] = "en",
) -> ToolResult:
    """Counts characters, words, sentences and paragraphs of a text, and finds its most frequent words. Give the text itself or
    the path of a file. Models miscount: use it whenever a length matters.

    Args:
        text: The text itself.
        path: A text file (UTF-8) in a granted directory.
        top: How many of the most frequent words to list.
        language: Whose common words to leave out of the most frequent ones; the reading ease (Flesch) is for English only.
    """
    content = unicodedata.normalize("NFC", _text_of(text, path))
    counts: Counter[str] = Counter()
    letters = english_syllables = 0
    lines = content.splitlines()
    for number, line in enumerate(lines):
        if number % 2000 == 1999:
            cx.check_cancelled()
            cx.update(f"{number + 1} of {len(lines)} lines")
        for word in _WORD.findall(line):
            word = word.casefold()
            counts[word] += 1
            letters += len(word)
            if language == "en":
                english_syllables += syllables(word)
    words = counts.total()
    sentences = max(len(_SENTENCE_END.findall(content)), 1 if words else 0)
    ease = None
    if language == "en" and words:
        ease = round(206.835 - 1.015 * words / sentences - 84.6 * english_syllables / words, 1)
    common = set(_STOPWORDS.get(language, "").split())
    ranked = sorted((item for item in counts.items() if item[0] not in common), key=lambda item: (-item[1], item[0]))
    found = Statistics(
        characters=len(content),
        bytes=len(content.encode("utf-8", "replace")),
        lines=len(lines),
        paragraphs=len([part for part in re.split(r"\n\s*\n", content) if part.strip()]),
        sentences=sentences,
        words=words,
        distinct_words=len(counts),
        letters_per_word=round(letters / words, 2) if words else 0.0,
        words_per_sentence=round(words / sentences, 2) if sentences else 0.0,
        reading_minutes=round(words / _WORDS_PER_MINUTE, 1),
        reading_ease=ease,
        frequent=[WordCount(word, count) for word, count in ranked[:top]],
    )
    summary = (
        f"{found.characters} characters ({found.bytes} bytes), {found.words} words ({found.distinct_words} distinct), "
        f"{found.sentences} sentences, {found.paragraphs} paragraphs, {found.lines} lines\n"
        f"{found.letters_per_word} letters per word, {found.words_per_sentence} words per sentence, "
        f"{found.reading_minutes} minutes to read"
    )
    if ease is not None:
        summary += f"; reading ease {ease} (Flesch: 0 hard to 100 easy)"
    if found.frequent:
        summary += "\nmost frequent: " + ", ".join(f"{item.word} ({item.count})" for item in found.frequent)
    return ToolResult(summary, structured_content=found)


# Comparing takes the square of the lines in the worst case.
_MAX_LINES = 5000


@tool(name="text_compare", label="Compare texts", read_only=True, idempotent=True, open_world=False)
def text_compare(before: str, after: str, context: Annotated[int, {"minimum": 0, "maximum": 10}] = 1) -> str:
    """Compares two texts line by line: how alike they are, and the differences as a unified diff.

    Args:
        before: The old text.
        after: The new text.
        context: Unchanged lines around each difference.
    """
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MAX_LINES:
        raise ToolError(f"a text has more than {_MAX_LINES} lines; compare parts of it")
    if old == new:
        return "The texts are equal" + ("" if before == after else ", apart from line ends")
    ratio = SequenceMatcher(None, old, new, autojunk=False).ratio()
    difference = unified_diff(old, new, "before", "after", lineterm="", n=context)
    return f"{ratio:.0%} of the lines are the same\n" + "\n".join(difference)

"""The tools' logic, natively: `python -m unittest` in this folder, with the SDK installed or in PYTHONPATH."""

import tempfile
import unittest
from pathlib import Path

from toolgate_sdk import Cancelled, ToolError, testing

from text_stats import syllables, text_compare, text_stats


class TextStats(unittest.TestCase):
    def stats(self, **arguments: object) -> object:
        with testing.host() as host:
            return host.call(text_stats, arguments).structured_content

    def test_what_is_counted(self) -> None:
        found = self.stats(text='The cat sat. "The dog didn\'t!"\n\nÜber-Mut: 3 cats…\n', top=2)
        self.assertEqual((found.characters, found.bytes, found.lines, found.paragraphs), (50, 53, 3, 2))
        self.assertEqual((found.words, found.distinct_words, found.sentences), (8, 7, 3))
        self.assertEqual([(item.word, item.count) for item in found.frequent], [("cat", 1), ("cats", 1)])

    def test_composed_and_decomposed_letters_are_the_same(self) -> None:
        self.assertEqual(self.stats(text="e\u0301"), self.stats(text="é"))

    def test_common_words_are_left_out_per_language(self) -> None:
        german = self.stats(text="Der Hund und der Mond", language="de")
        self.assertEqual([item.word for item in german.frequent], ["hund", "mond"])
        self.assertIsNone(german.reading_ease)

    def test_nothing_is_no_text(self) -> None:
        found = self.stats(text="")
        self.assertEqual((found.words, found.sentences, found.lines, found.reading_ease), (0, 0, 0, None))

    def test_reading_ease_of_simple_english(self) -> None:
        self.assertGreater(self.stats(text="The cat sat on the mat. It was big.").reading_ease, 100)
        self.assertEqual([syllables(word) for word in ("make", "table", "tree", "banana", "rhythm")], [1, 2, 1, 3, 1])

    def test_a_file_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "a.txt")
            file.write_text("one two", encoding="utf-8")
            self.assertEqual(self.stats(path=str(file)).words, 2)
            file.write_bytes(b"\xff")
            with self.assertRaisesRegex(ToolError, "UTF-8"):
                self.stats(path=str(file))
        for arguments in ({}, {"text": "a", "path": "b"}):
            with self.assertRaisesRegex(ToolError, "either text or path"):
                self.stats(**arguments)

    def test_a_long_text_reports_and_stops(self) -> None:
        with testing.host() as host:
            host.call(text_stats, {"text": "word\n" * 4000})
            self.assertEqual(len(host.updates), 2)
            host.cancelled = True
            with self.assertRaises(Cancelled):
                host.call(text_stats, {"text": "word\n" * 4000})


class TextCompare(unittest.TestCase):
    def test_differences(self) -> None:
        self.assertEqual(
            text_compare("a\nb\nc\nd", "a\nB\nc\nd", context=0),
            "75% of the lines are the same\n--- before\n+++ after\n@@ -2 +2 @@\n-b\n+B",
        )
        self.assertEqual(text_compare("a", "a"), "The texts are equal")
        self.assertEqual(text_compare("a\n", "a\r\n"), "The texts are equal, apart from line ends")
        with self.assertRaises(ToolError):
            text_compare("a\n" * 6000, "b")


if __name__ == "__main__":
    unittest.main()

//! Text from models and guests, made fit for a terminal: no control characters, no escape sequences, no characters that
//! turn the reading order round, no line longer than the terminal is wide.

use unicode_width::UnicodeWidthChar as _;

/// A character that a terminal shows and does nothing else with.
fn clean_char(c: char) -> char {
    match c {
        // The pictures of the control characters, so that one sees what was there.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
        c => c,
    }
}

/// One line: line breaks become `⏎`, tabs blanks.
pub fn clean_line(text: &str) -> String {
    text.trim_end()
        .chars()
        .filter(|c| *c != '\r')
        .map(|c| match c {
            '\n' => '⏎',
            '\t' => ' ',
            c => clean_char(c),
        })
        .collect()
}

/// Each line on its own. Tabs become four blanks.
pub fn clean_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| line.replace('\t', "    ").chars().map(clean_char).collect())
}

/// At most this many columns, the last an ellipsis where something was cut.
pub fn fit(text: &str, columns: usize) -> String {
    let (mut used, mut cut) = (0, None);
    for (at, c) in text.char_indices() {
        let width = c.width().unwrap_or(0);
        // Room for the ellipsis is kept until the text is known to end here.
        if used + width < columns.max(1) || (used + width == columns && text.len() == at + c.len_utf8()) {
            used += width;
        } else {
            cut = Some(at);
            break;
        }
    }
    match cut {
        None => text.to_owned(),
        Some(at) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

/// Milliseconds, in the unit one reads best.
pub fn duration(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms if ms < 60_000.0 => format!("{:.1} s", ms / 1_000.0),
        ms => format!("{:.0} min {:02.0} s", (ms / 60_000.0).floor(), (ms % 60_000.0 / 1_000.0).floor()),
    }
}

/// Bytes, in the unit one reads best.
pub fn bytes(count: u64) -> String {
    match count {
        0..=9_999 => format!("{count} B"),
        10_000..=9_999_999 => format!("{} KiB", count >> 10),
        _ => format!("{} MiB", count >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_sequence_survives() {
        let hostile = "a\x1b[31mred\x1b]0;title\x07\u{9b}2J\r\nb\u{202e}txt.exe\u{200b}\x08\x7f\t.";
        let line = clean_line(hostile);
        assert_eq!(line, "a␛[31mred␛]0;title␇\u{fffd}2J⏎b\u{fffd}txt.exe\u{fffd}␈␡ .");
        assert!(clean_lines(hostile).all(|line| !line.chars().any(char::is_control)));
        assert_eq!(clean_lines("a\r\nb\rc").collect::<Vec<_>>(), ["a", "b␍c"]);
    }

    #[test]
    fn lines_are_cut_by_columns_not_bytes() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello!", 5), "hell…");
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("x", 0), "…");
    }

    #[test]
    fn durations_and_sizes_are_readable() {
        assert_eq!(
            [duration(0.04), duration(12.4), duration(1_250.0), duration(61_500.0)],
            ["0.0 ms", "12 ms", "1.2 s", "1 min 01 s"]
        );
        assert_eq!([bytes(0), bytes(10_240), bytes(64 << 20)], ["0 B", "10 KiB", "64 MiB"]);
    }
}

//! Where a text that was not found was probably meant to be, so that a model can correct itself in one step.

use std::collections::{HashMap, HashSet};

use crate::truncate;

/// Larger texts get no hint.
const MAX_TEXT: usize = 2 * 1024 * 1024;
/// A line that occurs more often says nothing about the place.
const MAX_REPEATS: usize = 500;
/// Of the characters' pairs in the wanted line, in percent.
const SIMILAR: usize = 60;
/// Characters of a line that are quoted.
const QUOTED: usize = 120;

/// A sentence for the model, or nothing where no place is like `wanted`. Both texts have plain line feeds.
pub fn hint(text: &str, wanted: &str) -> Option<String> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let have: Vec<&str> = text.lines().collect();
    let want: Vec<&str> = wanted.lines().collect();
    match most_equal_lines(&have, &want) {
        Some(start) => Some(difference(&have, &want, start)),
        None => similar_line(&have, &want),
    }
}

/// The line where `want` would begin so that most of its lines are there but for white space around them.
fn most_equal_lines(have: &[&str], want: &[&str]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in have.iter().enumerate() {
        places.entry(line.trim()).or_default().push(at);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, line) in want.iter().enumerate() {
        let line = line.trim();
        let Some(places) = places.get(line) else { continue };
        if line.is_empty() || places.len() > MAX_REPEATS {
            continue;
        }
        for start in places.iter().filter_map(|at| at.checked_sub(offset)) {
            // Long lines say more about the place than a lone brace.
            *votes.entry(start).or_default() += line.len();
        }
    }
    votes.into_iter().max_by_key(|&(start, votes)| (votes, std::cmp::Reverse(start))).map(|(start, _)| start)
}

fn difference(have: &[&str], want: &[&str], start: usize) -> String {
    let pairs = || want.iter().enumerate().map(|(offset, line)| (start + offset, *line, have.get(start + offset)));
    let first = start + 1;
    let last = start + want.len();
    let place = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
    let Some((at, wanted, there)) = pairs().find(|(_, wanted, there)| *there != Some(wanted)) else {
        return format!("The lines are there ({place}), but oldText has a line end before or after them that is not");
    };
    let quoted = match there {
        Some(there) => format!("line {} is {}, oldText has {}", at + 1, quote(there), quote(wanted)),
        None => format!("the file ends before {}", quote(wanted)),
    };
    let only_white_space = pairs().all(|(_, wanted, there)| there.is_some_and(|there| there.trim() == wanted.trim()));
    if only_white_space {
        format!("Only white space differs at {place}: {quoted}")
    } else {
        format!("The nearest place is {place}: {quoted}")
    }
}

/// The line that has most of the pairs of characters of the first wanted line.
fn similar_line(have: &[&str], want: &[&str]) -> Option<String> {
    let wanted = want.iter().map(|line| line.trim()).find(|line| !line.is_empty())?;
    let pairs = pairs(wanted);
    if pairs.len() < 3 {
        return None;
    }
    let score = |line: &str| {
        let shared: HashSet<_> = self::pairs(line).intersection(&pairs).copied().collect();
        shared.len() * 100 / pairs.len()
    };
    let scored = have.iter().enumerate().map(|(at, line)| (score(line), std::cmp::Reverse(at), line));
    let (score, at, line) = scored.max_by_key(|&(score, at, _)| (score, at))?;
    (score >= SIMILAR).then(|| format!("The nearest is line {}: {}", at.0 + 1, quote(line)))
}

fn pairs(line: &str) -> HashSet<(char, char)> {
    line.chars().zip(line.chars().skip(1)).collect()
}

/// White space shows, as in code.
fn quote(line: &str) -> String {
    format!("{:?}", truncate::line(line, QUOTED).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "use a;\n\nfn one() {\n    first();\n    second();\n}\n\nfn two() {\n    third();\n}\n";

    #[test]
    fn white_space_is_told_apart_from_other_differences() {
        for (wanted, expected) in [
            (
                "fn one() {\n\tfirst();",
                r#"Only white space differs at lines 3-4: line 4 is "    first();", oldText has "\tfirst();""#,
            ),
            (
                "fn one() {\n    first();\n    other();\n}",
                r#"The nearest place is lines 3-6: line 5 is "    second();", oldText has "    other();""#,
            ),
            ("fn too() {", r#"The nearest is line 8: "fn two() {""#),
            ("use a;\nfn one", r#"The nearest place is lines 1-2: line 2 is "", oldText has "fn one""#),
            ("    third();\n}\n\n", "The nearest place is lines 9-11: the file ends before \"\""),
            ("}\n\n\nfn two() {", r#"The nearest place is lines 5-8: line 5 is "    second();", oldText has "}""#),
        ] {
            assert_eq!(hint(TEXT, wanted).as_deref(), Some(expected), "{wanted:?}");
        }
    }

    #[test]
    fn a_line_end_too_many_is_said() {
        let hint = hint("a = 1", "a = 1\n");
        assert!(hint.is_some_and(|hint| hint.contains("a line end before or after them")));
    }

    #[test]
    fn nothing_alike_gives_no_hint() {
        assert_eq!(hint(TEXT, "completely different"), None);
        assert_eq!(hint(TEXT, "\n\n\n"), None);
        assert_eq!(hint("", "abc"), None);
    }
}

//! What holds for every batch, seen from its outcome and its trace.

use toolgate::model::ExecutionMode;
use toolgate::pipeline::BatchOutcome;

use super::spec::Spec;
use super::trace::Row;
use super::world::HALVES;

/// Where things are in a trace.
struct Places<'a>(&'a [Row]);

impl Places<'_> {
    fn all(&self, word: &str, call: usize) -> Vec<usize> {
        let id = format!("c{call}");
        (0..self.0.len()).filter(|&at| self.0[at].word == word && self.0[at].id == id).collect()
    }

    fn maybe(&self, word: &str, call: usize) -> Option<usize> {
        let found = self.all(word, call);
        assert!(found.len() <= 1, "{word} of c{call} more than once");
        found.first().copied()
    }

    fn at(&self, word: &str, call: usize) -> usize {
        self.maybe(word, call).unwrap_or_else(|| panic!("no {word} of c{call}"))
    }
}

/// Asserts them.
///
/// # Panics
///
/// Where one is broken.
pub(super) fn assert_kept(specs: &[Spec], mode: ExecutionMode, outcome: &BatchOutcome, rows: &[Row]) {
    let places = Places(rows);
    let is_sequential = mode == ExecutionMode::Sequential || specs.iter().any(Spec::is_sequential);
    assert_eq!(outcome.messages.len(), specs.len(), "one message per call");
    let all_terminate = outcome.messages.iter().all(|message| message.result.terminate == Some(true));
    assert_eq!(outcome.terminate, !specs.is_empty() && all_terminate, "terminate = all");

    for (call, message) in outcome.messages.iter().enumerate() {
        assert_eq!(*message.tool_call_id, format!("c{call}"), "messages in source order");
        assert_eq!(message.is_error, message.error.is_some());
        let (start, end) = (places.at("tool_execution_start", call), places.at("tool_execution_end", call));
        let (begun, over) = (places.at("message_start", call), places.at("message_end", call));
        assert!(start < end && end < begun && begun < over, "start, end, message of c{call}");
        for word in ["before", "after", "execute_enter", "execute_exit", "prepare_arguments", "tool_execution_update"] {
            assert!(places.all(word, call).iter().all(|&at| start < at && at < end), "{word} of c{call} outside of it");
        }
        in_order("tool_execution_update", call, rows, |row| row.detail.parse().unwrap_or(usize::MAX));
        for word in ["before", "after", "settled"] {
            let half = |row: &Row| HALVES.iter().position(|half| row.detail.starts_with(half)).unwrap_or(usize::MAX);
            in_order(word, call, rows, half);
        }
        assert!(places.all("settled", call).iter().all(|&at| end < at), "settled hooks come after the end");
        if places.all("execute_enter", call).is_empty() {
            assert!(places.all("after", call).is_empty(), "after hooks of c{call}, which never ran");
        }
        if call > 0 {
            assert!(places.at("tool_execution_start", call - 1) < start, "starts in source order");
            assert!(places.at("message_end", call - 1) < begun, "messages in source order");
            if is_sequential {
                assert!(places.at("message_end", call - 1) < start, "c{call} overlaps the one before it");
            }
        }
    }
    if !is_sequential {
        let prepared = |word: &'static str| (0..specs.len()).flat_map(move |call| Places(rows).all(word, call));
        let last =
            prepared("before").chain(prepared("prepare_arguments")).chain(prepared("tool_execution_start")).max();
        let first = (0..specs.len()).filter_map(|call| places.maybe("execute_enter", call)).min();
        assert!(first.is_none() || last < first, "an execution before the last preparation");
    }
    for (later, spec) in specs.iter().enumerate() {
        for earlier in (0..later).filter(|&earlier| spec.excludes(&specs[earlier])) {
            // A tool that was stopped tells nothing of its end.
            if let (Some(exit), Some(enter)) =
                (places.maybe("execute_exit", earlier), places.maybe("execute_enter", later))
            {
                assert!(exit < enter, "c{earlier} and c{later} have one key and overlap");
            }
            if let (Some(first), Some(second)) =
                (places.maybe("execute_enter", earlier), places.maybe("execute_enter", later))
            {
                assert!(first < second, "c{earlier} and c{later} have one key and swap");
            }
        }
    }
}

/// What belongs to one call comes once each, in the order of its numbers.
fn in_order(word: &str, call: usize, rows: &[Row], number: impl Fn(&Row) -> usize) {
    let id = format!("c{call}");
    let numbers: Vec<_> = rows.iter().filter(|row| row.word == word && row.id == id).map(number).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{word} of c{call}: {numbers:?}");
}

//! What holds for every batch, over random batches that mix native and component tools and hooks. See
//! `toolgate_tests::batches`; the same functions are a fuzz target.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use proptest::arbitrary::any;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use toolgate_tests::batches::World;
use toolgate_tests::fuzz;

/// Used by one test at a time, since it counts what lives.
static WORLD: LazyLock<Mutex<World>> = LazyLock::new(Mutex::default);

/// Bytes enough for seven calls.
const BYTES: usize = 400;
/// Rounds until every fate was met.
const MOST_ROUNDS: u32 = 10;

fn random_batches(cases: u32, play: fn(&World, &[u8]) -> Vec<String>, fates: &[&str]) {
    let seen = RefCell::new(BTreeSet::new());
    let world = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let runner =
        || TestRunner::new(Config { cases: fuzz::cases(cases), failure_persistence: None, ..Config::default() });
    let bytes = proptest::collection::vec(any::<u8>(), 0..BYTES);
    // Chance may leave a rare fate out of one round.
    for _ in 0..MOST_ROUNDS {
        // The error has the smallest failing bytes; the batch they stand for was printed as it failed.
        let run = runner().run(&bytes, |bytes| {
            let played = std::panic::AssertUnwindSafe(|| play(&world, &bytes));
            let kinds = std::panic::catch_unwind(played).map_err(|_| TestCaseError::fail("see above"))?;
            seen.borrow_mut().extend(kinds);
            Ok(())
        });
        if let Err(error) = run {
            panic!("{error}");
        }
        if fates.iter().all(|kind| seen.borrow().contains(*kind)) {
            return;
        }
    }
    panic!("the batches are too much alike: {:?}", seen.into_inner());
}

#[test]
fn every_batch_gives_the_same_messages_in_either_mode_whatever_the_timing_and_whoever_implements_it() {
    let fates = ["ok", "not-found", "invalid-arguments", "blocked", "declined", "tool-failed", "trap", "hook-failed"];
    random_batches(60, fuzz::play_undisturbed, &fates);
}

#[test]
fn a_batch_cancelled_anywhere_keeps_the_rules() {
    random_batches(150, fuzz::play_cancelled, &["ok", "aborted"]);
}

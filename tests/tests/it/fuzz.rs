//! A short run of every fuzz target: its seeds, its seeds with changes, and random bytes. `just fuzz` runs them for
//! long, and so does `TOOLGATE_CASES=1000` here, without guidance.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use toolgate_tests::fuzz::{self, seeds};

/// What is done to a seed.
#[derive(Clone, Debug)]
enum Change {
    Byte(usize, u8),
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
}

fn changed(seed: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        let within = |at: usize| at % bytes.len();
        match *change {
            Change::Byte(at, byte) => {
                let at = within(at);
                bytes[at] = byte;
            }
            Change::Cut(at) => bytes.truncate(within(at)),
            Change::Remove(at, count) => {
                let at = within(at);
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            Change::Repeat(at, count) => {
                let at = within(at);
                let part = bytes[at..(at + count).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => any::<usize>().prop_map(Change::Cut),
        2 => (any::<usize>(), 1..40_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        2 => (any::<usize>(), 1..40_usize).prop_map(|(at, count)| Change::Repeat(at, count)),
    ]
}

/// Seeds as they are, then `cases` times changed seeds and as often random bytes. Some meet each of these fates.
fn run(target: fn(&[u8]) -> Vec<&'static str>, seeds: Vec<Vec<u8>>, cases: u32, fates: &[&str]) {
    assert!(seeds.len() >= 5, "the seeds are gone");
    let seen = RefCell::new(BTreeMap::<_, usize>::new());
    let note =
        |found: Vec<&'static str>| found.into_iter().for_each(|fate| *seen.borrow_mut().entry(fate).or_default() += 1);
    seeds.iter().for_each(|seed| note(target(seed)));
    let mutated = (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..6))
        .prop_map(move |(seed, changes)| changed(seed.get::<Vec<u8>>(&seeds), &changes));
    let random = prop::collection::vec(any::<u8>(), 0..1_000);
    // One each: a runner counts on.
    let runner =
        || TestRunner::new(Config { cases: fuzz::cases(cases), failure_persistence: None, ..Config::default() });
    let both = |bytes: Vec<u8>| {
        let found = std::panic::catch_unwind(|| target(&bytes)).map_err(|_| TestCaseError::fail("see above"))?;
        note(found);
        Ok(())
    };
    for result in [runner().run(&mutated, both), runner().run(&random, both)] {
        if let Err(error) = result {
            panic!("{error}");
        }
    }
    let seen = seen.into_inner();
    println!("{seen:?}");
    assert!(fates.iter().all(|fate| seen.contains_key(fate)), "the bytes are too much alike: {seen:?}");
}

#[test]
fn texts() {
    run(fuzz::read, seeds::read(), 3_000, &["read", "no document"]);
}

#[test]
fn arguments_against_schemas() {
    run(fuzz::validate, seeds::validate(), 2_000, &["no schema", "valid", "coerced", "refused"]);
}

#[test]
fn configurations() {
    run(fuzz::config, seeds::config(), 1_000, &["accepted", "refused"]);
}

#[test]
fn components() {
    run(fuzz::load, seeds::load(), 150, &["refused", "loaded", "tool-failed"]);
}

#[test]
fn batches() {
    // More of them in `properties`.
    seeds::batch().iter().for_each(|seed| fuzz::batch(seed));
}

//! A batch of scripted native and component tools, from bytes.

use std::sync::LazyLock;

use arbitrary::{Arbitrary as _, Unstructured};

use crate::batches::{Cancel, Spec, World, cancelled, undisturbed};

/// Plays the batch that the bytes stand for.
///
/// # Panics
///
/// Where a rule is broken.
pub fn batch(data: &[u8]) {
    static WORLD: LazyLock<World> = LazyLock::new(World::new);
    match data.split_first() {
        Some((0..=127, rest)) => drop(play_undisturbed(&WORLD, rest)),
        Some((_, rest)) => drop(play_cancelled(&WORLD, rest)),
        None => {}
    }
}

/// The same batch in several ways; see [`undisturbed`].
///
/// # Panics
///
/// Where a rule is broken.
pub fn play_undisturbed(world: &World, data: &[u8]) -> Vec<String> {
    let specs = Spec::batch(&mut Unstructured::new(data));
    specs.map(|specs| undisturbed(world, &specs)).unwrap_or_default()
}

/// A batch that is cancelled somewhere; see [`cancelled`].
///
/// # Panics
///
/// Where a rule is broken.
pub fn play_cancelled(world: &World, data: &[u8]) -> Vec<String> {
    let mut bytes = Unstructured::new(data);
    let read = (bytes.arbitrary(), Cancel::arbitrary(&mut bytes), Spec::batch(&mut bytes));
    match read {
        (Ok(is_parallel), Ok(cancel), Ok(specs)) => cancelled(world, &specs, is_parallel, cancel),
        _ => Vec::new(),
    }
}

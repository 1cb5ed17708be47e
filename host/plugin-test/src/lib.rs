//! Runs a component in process, for its author's tests.

//! Every bound on hostile schemas and arguments, each with its reason. A schema comes from a plugin's author and
//! arguments from a model, so neither may cost the host more than these numbers say.

/// Bytes of a schema document as compact JSON. Real tool schemas are a few KiB; bundled ones stay far below this.
pub const MAX_SCHEMA_BYTES: usize = 1024 * 1024;

/// JSON values in a schema document: one MiB of `[[],[],…]` would otherwise be half a million of them.
pub const MAX_SCHEMA_VALUES: usize = 100_000;

/// JSON nesting of a schema document, which is what compiling recurses over. A subschema takes two levels.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// Subschemas that are compiled, counted once each, however often they are referenced.
pub const MAX_SUBSCHEMAS: usize = 10_000;

/// Steps through `$ref`, `allOf`, `anyOf` and the like that apply to one and the same value. Validation recurses over
/// this number times the depth of the arguments, so it bounds the stack.
pub const MAX_CHAIN: usize = 64;

/// How often subschemas are applied to one value, counted through references. Definitions that each refer twice to the
/// next are small to write and double at every step.
pub const MAX_APPLICATIONS: u64 = 50_000;

/// Subschemas with an `$id` of their own.
pub const MAX_RESOURCES: usize = 64;

/// Subschemas times the ways that references take through those with an `$id` of their own: for the sake of
/// `$dynamicRef`, the library compiles a subschema anew for each way. Without such subschemas there is one way.
pub const MAX_COMPILED: usize = 100_000;

/// Different regular expressions in one schema.
pub const MAX_PATTERNS: usize = 256;

/// Memory for all compiled regular expressions of a schema, in units of [`PATTERN_CLASS_BYTES`]: 8 MiB.
pub const MAX_PATTERN_CLASSES: u64 = 512;

/// The smallest size a regular expression is compiled within. Matching costs up to its size times the text's length,
/// so a pattern's class (its size in these units) is also its price per byte.
pub const PATTERN_CLASS_BYTES: usize = 16 * 1024;

/// The classes tried, smallest first; a pattern beyond 1 MiB is refused.
pub const PATTERN_CLASSES: [u64; 4] = [1, 4, 16, 64];

/// Memory a regular expression may use for its lazily built automaton; beyond it matching is slower, never wrong.
pub const PATTERN_DFA_BYTES: usize = 256 * 1024;

/// Nesting of arguments: what serde_json reads from text by default.
pub const MAX_ARGUMENT_DEPTH: usize = 128;

/// Work for one call's arguments, in steps of about 50 to 500 ns: one application of one subschema to one value, one
/// byte matched against a small regular expression, one enum member compared. Both the plain validation (counted
/// before it is started, since the library can't be stopped) and the coercion with its explanation get this much.
pub const MAX_STEPS: u64 = 2_000_000;

/// Lines of problems in the text for the model.
pub const MAX_PROBLEM_LINES: usize = 32;

/// Bytes of received arguments shown to the model. It wrote them itself a moment ago, so the head is enough to
/// recognise them, and a large file's content must not come back a second time.
pub const MAX_RECEIVED_BYTES: usize = 16 * 1024;

/// Characters of a value, key or pattern quoted in one problem.
pub const MAX_EXCERPT_CHARS: usize = 80;

/// Allowed values listed for an `enum`, and alternatives named for an `anyOf`.
pub const MAX_LISTED: usize = 24;

/// Stack for compiling a schema and for validating deeply nested arguments. Reserved, and touched only when needed.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Nesting of arguments times in-place steps that validation is sure to manage on a 2 MiB stack (tokio's default), with
/// a wide margin: see the test `stack_use_stays_within_a_worker_threads_stack`.
pub const SMALL_STACK_LEVELS: usize = 1024;

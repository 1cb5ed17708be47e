//! The whole pipeline as JSON lines, for hosts in other languages.

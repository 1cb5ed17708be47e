//! Tool definitions, calls and results as the model providers write them.

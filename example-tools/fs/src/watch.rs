//! Keeps long searches polite: they stop when cancelled and tell how far they are.

use std::time::{Duration, Instant};

use toolgate_sdk::prelude::*;

/// An update is due after this long, half of the second that is promised.
const INTERVAL: Duration = Duration::from_millis(500);
/// Or after this many files, so that a fast search shows progress too.
const FILES: u32 = 2_500;

/// The host's ear and mouth during one call.
pub struct Watch<'a> {
    cx: Option<&'a ToolContext>,
    pace: Pace,
}

impl<'a> Watch<'a> {
    pub fn new(cx: &'a ToolContext) -> Self {
        Self { cx: Some(cx), pace: Pace::new(Instant::now()) }
    }

    /// Nobody listens and nobody cancels.
    #[cfg(test)]
    pub fn silent() -> Self {
        Self { cx: None, pace: Pace::new(Instant::now()) }
    }

    /// Call between pieces of work that may add up.
    pub fn check(&self) -> Result<(), ToolError> {
        match self.cx {
            Some(cx) if cx.is_cancelled() => Err(ToolError::cancelled()),
            _ => Ok(()),
        }
    }

    /// Call after each file.
    pub fn file_done(&mut self, progress: impl FnOnce() -> ToolResult) -> Result<(), ToolError> {
        self.pace.files += 1;
        self.tick(progress)
    }

    /// Call now and then within a large file.
    pub fn tick(&mut self, progress: impl FnOnce() -> ToolResult) -> Result<(), ToolError> {
        self.check()?;
        if self.pace.due(Instant::now())
            && let Some(cx) = self.cx
        {
            cx.update(progress());
        }
        Ok(())
    }
}

struct Pace {
    last: Instant,
    files: u32,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { last: now, files: 0 }
    }

    fn due(&mut self, now: Instant) -> bool {
        let due = self.files >= FILES || now.saturating_duration_since(self.last) >= INTERVAL;
        if due {
            *self = Self::new(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_due_by_time() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let at = |millis| start + Duration::from_millis(millis);
        let due: Vec<u64> = (0..2000).step_by(100).filter(|&millis| pace.due(at(millis))).collect();
        assert_eq!(due, [500, 1000, 1500]);
    }

    #[test]
    fn an_update_is_due_by_files() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut due = 0;
        for _ in 0..10_000 {
            pace.files += 1;
            due += u32::from(pace.due(start));
        }
        assert_eq!(due, 4);
    }
}

//! Writing a journal, on a thread of its own: no worker of the runtime waits for a disk, and calls that settle while it
//! does share the next write and the next fsync.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

/// The file and how much of it is whole lines.
pub(super) struct Writer<State = Running>(State);

/// Before there is a thread.
pub(super) struct Setup {
    file: File,
    good_bytes: u64,
}

pub(super) struct Running {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    line: Vec<u8>,
    sync: bool,
    done: oneshot::Sender<Result<(), String>>,
}

impl Writer<Setup> {
    /// Takes a file that is open for appending, with so many bytes of whole lines.
    pub(super) fn new(file: File, good_bytes: u64) -> Self {
        Self(Setup { file, good_bytes })
    }

    /// Cuts off what follows the whole lines.
    pub(super) fn cut(&mut self) -> io::Result<()> {
        self.0.file.set_len(self.0.good_bytes)
    }

    /// Writes whole lines.
    pub(super) fn append(&mut self, lines: &[u8], sync: bool) -> io::Result<()> {
        self.0.file.write_all(lines)?;
        self.0.good_bytes += lines.len() as u64;
        if sync { self.0.file.sync_data() } else { Ok(()) }
    }

    /// Starts the thread.
    pub(super) fn start(self) -> io::Result<Writer> {
        let (jobs, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name("journal".into()).spawn(move || self.work(&receiver))?;
        Ok(Writer(Running { jobs: Some(jobs), thread: Some(thread) }))
    }

    fn work(mut self, jobs: &mpsc::Receiver<Job>) {
        let mut failed: Option<String> = None;
        while let Ok(first) = jobs.recv() {
            let (mut lines, mut sync, mut done) = (Vec::new(), false, Vec::new());
            for job in std::iter::once(first).chain(jobs.try_iter()) {
                lines.extend(job.line);
                sync |= job.sync;
                done.push(job.done);
            }
            if failed.is_none()
                && let Err(error) = self.append(&lines, sync)
            {
                // Half a line in the middle would be damage. Where this fails too, it is the last line.
                let _ = self.cut();
                failed = Some(error.to_string());
            }
            let answer = failed.clone().map_or(Ok(()), Err);
            for done in done {
                // Nobody waits where a batch was dropped.
                let _ = done.send(answer.clone());
            }
        }
    }
}

impl Writer {
    /// Hands a line over at once; the future waits until it is written. Once a write has failed, all do.
    pub(super) fn write(&self, line: Vec<u8>, sync: bool) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let (done, answer) = oneshot::channel();
        // The thread ends only when this is dropped; if it had panicked, the answer would say so.
        let _ = self.0.jobs.as_ref().map(|jobs| jobs.send(Job { line, sync, done }));
        async move { answer.await.unwrap_or_else(|_| Err("its writer has ended".into())) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // Only what was handed over is left to write.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs::OpenOptions;

    #[tokio::test]
    async fn lines_are_written_in_the_order_they_are_handed_over() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let append = OpenOptions::new().append(true).open(file.path()).unwrap();
        let writer = Writer::new(append, 0).start().unwrap();
        let pending: Vec<_> = (0..100).map(|n| writer.write(format!("{n}\n").into_bytes(), n == 50)).collect();
        for one in pending {
            one.await.unwrap();
        }
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.lines().map(|line| line.parse::<u32>().unwrap()).eq(0..100));
        // A future that nobody waits for is written all the same, at the latest when the writer is dropped.
        drop(writer.write(b"last\n".to_vec(), false));
        drop(writer);
        assert!(std::fs::read_to_string(file.path()).unwrap().ends_with("\n99\nlast\n"));
    }

    #[tokio::test]
    async fn after_a_failure_nothing_more_is_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read_only = File::open(file.path()).unwrap();
        let writer = Writer::new(read_only, 0).start().unwrap();
        let first = writer.write(b"a\n".to_vec(), false).await.unwrap_err();
        assert_eq!(writer.write(Vec::new(), false).await.unwrap_err(), first);
    }
}

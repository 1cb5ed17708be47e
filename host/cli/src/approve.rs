//! Who answers a hook's question: `--yes` and `--approve TOOL`, else a person at the terminal, else nobody.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use toolgate::pipeline::{Approval, ApprovalRequest, Approver};

use crate::args::Approve;
use crate::view::text::{clean_line, clean_lines, fit};
use crate::view::{Paint, Screen};

/// Lines of arguments that are shown before one has to ask for the rest.
const ARGUMENT_LINES: usize = 24;

pub struct CommandLine {
    all: bool,
    tools: Mutex<HashSet<String>>,
    screen: Screen,
    keyboard: AsyncMutex<Keyboard>,
}

impl CommandLine {
    pub fn new(args: &Approve, screen: Screen) -> Self {
        Self {
            all: args.yes,
            tools: Mutex::new(args.approve.iter().cloned().collect()),
            screen,
            keyboard: AsyncMutex::default(),
        }
    }

    fn tools(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Approver for CommandLine {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        let tool = &*request.call.name;
        if self.all || self.tools().contains(tool) {
            return Approval::Approved;
        }
        let mut keyboard = self.keyboard.lock().await;
        if !keyboard.open() {
            tracing::warn!(
                "a hook asks about {tool}, and there is no terminal to ask on: declined; --yes or --approve {tool} answers beforehand"
            );
            return Approval::Declined { reason: Some("nobody was there to answer".into()) };
        }
        let _paused = self.screen.pause();
        let arguments = serde_json::to_string_pretty(request.arguments.value()).unwrap_or_default();
        let lines: Vec<String> = clean_lines(&arguments).collect();
        show(&request, &lines);
        loop {
            let rest = if lines.len() > ARGUMENT_LINES { ", v = view all arguments" } else { "" };
            prompt(&format!(
                "Run it? y = yes, a = yes to all {} calls, n = no{rest}, or say why not: ",
                clean_line(tool)
            ));
            let Some(answer) = keyboard.line().await else {
                return Approval::Declined { reason: Some("nobody was there to answer".into()) };
            };
            match answer.trim() {
                "" => {}
                "y" | "Y" | "yes" => return Approval::Approved,
                "a" | "A" | "all" => {
                    self.tools().insert(tool.to_owned());
                    return Approval::Approved;
                }
                "n" | "N" | "no" => return Approval::Declined { reason: None },
                "v" | "V" => print_lines(&lines),
                reason => return Approval::Declined { reason: Some(reason.to_owned()) },
            }
        }
    }
}

fn show(request: &ApprovalRequest, arguments: &[String]) {
    let paint = Paint::of_stdout();
    let columns = paint.columns;
    let mut text = format!("\n{}\n", fit(&clean_line(&request.call.name), columns));
    for question in &request.questions {
        let by = question.plugin.as_ref().unwrap_or(&question.hook);
        text.push_str(&fit(&format!("? {} asks: {}", clean_line(by), clean_line(&question.title)), columns));
        text.push('\n');
        for line in clean_lines(&question.text) {
            text.push_str(&format!("  {}\n", fit(&line, columns.saturating_sub(2))));
        }
    }
    // Long lines are not cut here: what is approved must be seen.
    for line in arguments.iter().take(ARGUMENT_LINES) {
        text.push_str(&format!("  {line}\n"));
    }
    if arguments.len() > ARGUMENT_LINES {
        text.push_str(&format!("  … {} more lines of arguments\n", arguments.len() - ARGUMENT_LINES));
    }
    prompt(&text);
}

fn print_lines(lines: &[String]) {
    prompt(&lines.iter().map(|line| format!("  {line}\n")).collect::<String>());
}

fn prompt(text: &str) {
    let mut err = std::io::stderr().lock();
    // A closed standard error means that nobody answers either.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Lines from the terminal, read by one thread for the whole run: a read can't be taken back when a question times out.
#[derive(Default)]
struct Keyboard(Option<mpsc::UnboundedReceiver<String>>);

impl Keyboard {
    /// Whether there is a person: a terminal to write to, and one to read from even where standard input is a file.
    fn open(&mut self) -> bool {
        if self.0.is_some() {
            return true;
        }
        if !std::io::stderr().is_terminal() {
            return false;
        }
        let input: Box<dyn Read + Send> = if std::io::stdin().is_terminal() {
            Box::new(std::io::stdin())
        } else {
            match File::open("/dev/tty") {
                Ok(tty) => Box::new(tty),
                Err(_) => return false,
            }
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(input).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        self.0 = Some(receiver);
        true
    }

    /// The next line typed from now on; none when the terminal is closed.
    async fn line(&mut self) -> Option<String> {
        let lines = self.0.as_mut()?;
        // What was typed before the question is no answer to it.
        while lines.try_recv().is_ok() {}
        lines.recv().await
    }
}

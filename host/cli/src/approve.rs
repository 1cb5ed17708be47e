//! Who answers a hook's question: `--yes` and `--approve TOOL`, else a person at the terminal, else nobody.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use toolgate::pipeline::{Approval, ApprovalRequest, Approver};

use crate::args::Approve;
use crate::terminal;
use crate::view::prompt::write;
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
        let _waiting = self.screen.waits.begin(&request.call.id);
        let mut keyboard = self.keyboard.lock().await;
        let Some(keyboard) = keyboard.open() else {
            let why = if terminal::holds_messages() {
                "the terminal is read for messages, which a file could hold"
            } else {
                "there is no terminal to ask on"
            };
            tracing::warn!(
                "a hook asks about {tool}, and {why}: declined; --yes or --approve {tool} answers beforehand"
            );
            return Approval::Declined { reason: Some("nobody was there to answer".into()) };
        };
        let _paused = self.screen.pause();
        let arguments = serde_json::to_string_pretty(request.arguments.value()).unwrap_or_default();
        let lines: Vec<String> = clean_lines(&arguments).collect();
        show(&request, &lines);
        loop {
            let rest = if lines.len() > ARGUMENT_LINES { ", v = view all arguments" } else { "" };
            keyboard.forget();
            let prompt = self.screen.prompt(format!(
                "Run it? y = yes, a = yes to all {} calls, n = no{rest}, or say why not: ",
                clean_line(tool)
            ));
            let Some(answer) = keyboard.line().await else {
                return Approval::Declined { reason: Some("nobody was there to answer".into()) };
            };
            prompt.answered();
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
    write(&text);
}

fn print_lines(lines: &[String]) {
    write(&lines.iter().map(|line| format!("  {line}\n")).collect::<String>());
}

/// Lines from the terminal, each read by a thread when it is asked for: a read can't be taken back when a question times
/// out, and is used for the next question then.
#[derive(Default)]
struct Keyboard(Option<Reader>);

struct Reader {
    requests: std::sync::mpsc::Sender<()>,
    /// None: the end of the input, which one may type at a terminal and go on.
    lines: mpsc::UnboundedReceiver<Option<String>>,
    reading: bool,
}

impl Keyboard {
    /// Whether there is a person: a terminal to write to, and one to read from even where standard input is a file.
    fn open(&mut self) -> Option<&mut Reader> {
        if self.0.is_none() && std::io::stderr().is_terminal() && !terminal::holds_messages() {
            self.0 = Some(Reader::start(terminal::keyboard()?));
        }
        self.0.as_mut()
    }
}

impl Reader {
    fn start(input: Box<dyn Read + Send>) -> Self {
        let (requests, requested) = std::sync::mpsc::channel();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while requested.recv().is_ok() {
                let mut line = String::new();
                let read = input.read_line(&mut line).is_ok_and(|count| count > 0);
                if sender.send(read.then_some(line)).is_err() {
                    return;
                }
            }
        });
        Self { requests, lines, reading: false }
    }

    /// Forgets what was typed until now: what was typed before a question is no answer to it.
    fn forget(&mut self) {
        terminal::discard_input();
        while self.lines.try_recv().is_ok() {
            self.reading = false;
        }
    }

    /// The next line.
    async fn line(&mut self) -> Option<String> {
        if !self.reading {
            self.requests.send(()).ok()?;
            self.reading = true;
        }
        let line = self.lines.recv().await;
        self.reading = false;
        line?
    }
}

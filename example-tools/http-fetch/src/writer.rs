//! Text as it is laid out: gaps between blocks, indentation of lists and quotes, links and code around their text.

/// Levels of lists and quotes that are indented; deeper ones stay where they are.
const MAX_LEVELS: usize = 12;
/// Bytes of text; a page has no more to say to a model.
const MAX_TEXT: usize = 4 << 20;
/// Links longer than this lose their target: it is tracking, not an address.
const MAX_TARGET: usize = 500;

/// What has to come before the next text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
    Blank,
}

#[derive(Clone, PartialEq, Eq)]
enum Level {
    List { next: Option<u64> },
    Item { indent: usize },
    Quote,
}

struct Link {
    target: String,
    /// Where its text starts, once there is some.
    start: Option<usize>,
}

/// Collects a page's text.
pub struct Writer {
    out: String,
    gap: Gap,
    levels: Vec<Level>,
    /// Bullets and numbers of items that have no text yet, outermost first.
    markers: Vec<String>,
    /// Opens the next text: `## ` of a heading, a backtick of code.
    lead: String,
    link: Option<Link>,
    pre: bool,
    row_has_text: bool,
    cell_is_empty: bool,
    /// Borders of cells that are due before the next text; empty cells at a row's ends leave none.
    bars: usize,
}

impl Writer {
    pub fn new() -> Self {
        Self {
            out: String::new(),
            gap: Gap::None,
            levels: Vec::new(),
            markers: Vec::new(),
            lead: String::new(),
            link: None,
            pre: false,
            row_has_text: false,
            cell_is_empty: false,
            bars: 0,
        }
    }

    pub fn is_full(&self) -> bool {
        self.out.len() >= MAX_TEXT
    }

    pub fn finish(mut self) -> String {
        self.end_pre();
        self.end_link();
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        self.out
    }

    /// Running text: blanks and line breaks are one space, except in preformatted text.
    pub fn text(&mut self, text: &str) {
        if self.pre {
            return self.preformatted(text);
        }
        for c in text.chars() {
            if c.is_whitespace() {
                self.gap = self.gap.max(Gap::Space);
            } else if !matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}') && !c.is_control() {
                self.settle();
                self.out.push(c);
            }
        }
    }

    /// The next text starts on a new line.
    pub fn line(&mut self) {
        self.at_least(Gap::Line);
    }

    /// The next text starts after an empty line.
    pub fn blank(&mut self) {
        self.at_least(Gap::Blank);
    }

    /// A line break; two make an empty line.
    pub fn line_break(&mut self) {
        if self.pre {
            return self.preformatted("\n");
        }
        self.gap = if self.gap >= Gap::Line { Gap::Blank } else { Gap::Line };
    }

    fn at_least(&mut self, gap: Gap) {
        // A block that opens a cell does not leave its line.
        if !self.cell_is_empty {
            self.gap = self.gap.max(gap);
        }
    }

    pub fn rule(&mut self) {
        self.blank();
        self.text("---");
        self.blank();
    }

    pub fn start_heading(&mut self, level: usize) {
        self.blank();
        self.lead = format!("{} ", "#".repeat(level));
    }

    /// Whether a heading has begun and has no text yet.
    pub fn opens_heading(&self) -> bool {
        self.lead.starts_with('#')
    }

    pub fn end_heading(&mut self) {
        self.lead.clear();
        self.blank();
    }

    pub fn start_list(&mut self, first: Option<u64>) {
        // A list inside an item goes on right below it.
        if self.levels.iter().any(|level| matches!(level, Level::Item { .. })) {
            self.line()
        } else {
            self.blank()
        }
        self.push(Level::List { next: first });
    }

    pub fn end_list(&mut self) {
        self.pop_through(|level| matches!(level, Level::List { .. }));
        if self.levels.iter().any(|level| matches!(level, Level::Item { .. })) { self.line() } else { self.blank() }
    }

    pub fn start_item(&mut self) {
        while matches!(self.levels.last(), Some(Level::Item { .. } | Level::Quote)) {
            self.pop();
        }
        self.line();
        let marker = match self.levels.last_mut() {
            Some(Level::List { next: Some(number) }) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "- ".into(),
        };
        if self.push(Level::Item { indent: marker.len() }) {
            self.markers.push(marker);
        }
    }

    pub fn end_item(&mut self) {
        if matches!(self.levels.last(), Some(Level::Item { .. })) {
            self.pop();
        }
        self.line();
    }

    pub fn start_quote(&mut self) {
        self.blank();
        self.push(Level::Quote);
    }

    pub fn end_quote(&mut self) {
        self.pop_through(|level| *level == Level::Quote);
        self.blank();
    }

    pub fn start_row(&mut self) {
        self.end_row();
    }

    pub fn start_cell(&mut self) {
        if self.row_has_text {
            self.bars += 1;
            self.cell_is_empty = true;
        }
    }

    pub fn end_row(&mut self) {
        self.row_has_text = false;
        self.cell_is_empty = false;
        self.bars = 0;
        self.line();
    }

    pub fn start_pre(&mut self) {
        self.blank();
        self.settle();
        self.out.push_str("```");
        self.newline();
        self.pre = true;
    }

    pub fn end_pre(&mut self) {
        if !std::mem::take(&mut self.pre) {
            return;
        }
        let end = self.out.trim_end_matches([' ', '\n', '>']).len();
        self.out.truncate(end);
        self.newline();
        self.out.push_str("```");
        self.blank();
    }

    pub fn start_code(&mut self) {
        if !self.pre {
            self.lead.push('`');
        }
    }

    pub fn end_code(&mut self) {
        if self.pre {
            return;
        }
        // One that had no text leaves nothing.
        if self.lead.ends_with('`') {
            self.lead.pop();
        } else {
            self.out.push('`');
        }
    }

    pub fn start_link(&mut self, target: String) {
        self.end_link();
        if !self.pre && target.len() <= MAX_TARGET {
            self.link = Some(Link { target, start: None });
        }
    }

    pub fn end_link(&mut self) {
        let Some(Link { target, start: Some(start) }) = self.link.take() else { return };
        // The text is the address: it stands for itself.
        if self.out.get(start + 1..) == Some(target.as_str()) {
            self.out.remove(start);
            return;
        }
        self.out.push_str("](");
        self.out.push_str(&target);
        self.out.push(')');
    }

    fn preformatted(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.newline(),
                '\r' => {}
                c if c.is_control() && c != '\t' => {}
                c => self.out.push(c),
            }
        }
    }

    /// Writes what is due before text: gap, bullets, heading marks, a link's bracket.
    fn settle(&mut self) {
        self.cell_is_empty = false;
        self.row_has_text = true;
        let bars = std::mem::take(&mut self.bars);
        let markers = std::mem::take(&mut self.markers);
        let gap = if markers.is_empty() { self.gap } else { self.gap.clamp(Gap::Line, Gap::Blank) };
        self.gap = Gap::None;
        let inner = self.levels.len() - markers.len().min(self.levels.len());
        if self.out.is_empty() {
            self.indent(inner);
        } else if bars > 0 && markers.is_empty() {
            self.out.extend(std::iter::repeat_n(" | ", bars));
        } else {
            match gap {
                Gap::None => {}
                Gap::Space => self.out.push(' '),
                Gap::Line => self.newline_at(inner),
                Gap::Blank => {
                    self.newline_at(inner);
                    let end = self.out.trim_end_matches(' ').len();
                    self.out.truncate(end);
                    self.newline_at(inner);
                }
            }
        }
        for marker in markers {
            self.out.push_str(&marker);
        }
        let lead = std::mem::take(&mut self.lead);
        self.out.push_str(&lead);
        if let Some(link) = &mut self.link
            && link.start.is_none()
        {
            link.start = Some(self.out.len());
            self.out.push('[');
        }
    }

    fn newline(&mut self) {
        self.newline_at(self.levels.len());
    }

    fn newline_at(&mut self, levels: usize) {
        self.out.push('\n');
        self.indent(levels);
    }

    fn indent(&mut self, levels: usize) {
        for level in self.levels.iter().take(levels) {
            match level {
                Level::List { .. } => {}
                Level::Item { indent } => self.out.extend(std::iter::repeat_n(' ', *indent)),
                Level::Quote => self.out.push_str("> "),
            }
        }
    }

    fn push(&mut self, level: Level) -> bool {
        let room = self.levels.len() < 2 * MAX_LEVELS;
        if room {
            self.levels.push(level);
        }
        room
    }

    fn pop(&mut self) {
        // An item that never had text takes its bullet with it.
        if let Some(Level::Item { .. }) = self.levels.pop() {
            self.markers.pop();
        }
    }

    fn pop_through(&mut self, wanted: impl Fn(&Level) -> bool) {
        if let Some(at) = self.levels.iter().rposition(wanted) {
            while self.levels.len() > at {
                self.pop();
            }
        }
    }
}

//! What a run came to: printed as tables, written as JSON.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::measure::Series;

/// A number that is to stay below, or above, another.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    /// What is meant.
    pub name: String,
    /// What came out.
    pub value: f64,
    /// What it should be at most; at least, where `at_least` says so.
    pub target: f64,
    /// The target is a floor.
    pub at_least: bool,
    /// Behind the number.
    pub unit: &'static str,
}

impl Goal {
    /// At most so much.
    pub fn at_most(name: impl Into<String>, value: f64, target: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, target, at_least: false, unit }
    }

    /// At least so much.
    pub fn at_least(name: impl Into<String>, value: f64, target: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, target, at_least: true, unit }
    }

    /// Whether it is met.
    pub fn met(&self) -> bool {
        if self.at_least { self.value >= self.target } else { self.value <= self.target }
    }
}

/// Everything of one run.
#[derive(Default)]
pub struct Report {
    json: Map<String, Value>,
    goals: Vec<Goal>,
}

impl Report {
    /// Keeps something under a name.
    pub fn keep(&mut self, name: &str, value: &impl Serialize) {
        self.json.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
    }

    /// Notes a goal, to be printed at the end.
    pub fn goal(&mut self, goal: Goal) {
        self.goals.push(goal);
    }

    /// Prints and keeps a table of cases.
    pub fn series(&mut self, title: &str, series: &[Series]) {
        heading(title);
        let width = series.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        println!("{:width$}  {:>10}  {:>10}  {:>7}  {:>13}", "", "median µs", "p99 µs", "ratio", "quartiles");
        for row in series {
            println!(
                "{:width$}  {:>10.2}  {:>10.2}  {:>6.2}×  {:>5.2} – {:>5.2}",
                row.name, row.median_us, row.p99_us, row.ratio, row.spread[0], row.spread[1]
            );
        }
        self.keep(title, &series);
    }

    /// Prints and keeps named numbers.
    pub fn numbers(&mut self, title: &str, numbers: &[(String, f64, &'static str)]) {
        heading(title);
        let width = numbers.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        for (name, value, unit) in numbers {
            println!("{name:width$}  {value:>12.3} {unit}");
        }
        let kept: Map<String, Value> = numbers.iter().map(|(name, value, _)| (name.clone(), (*value).into())).collect();
        self.keep(title, &kept);
    }

    /// Prints the goals, and gives everything as JSON.
    pub fn finish(mut self) -> Value {
        if !self.goals.is_empty() {
            heading("Targets");
            let width = self.goals.iter().map(|goal| goal.name.chars().count()).max().unwrap_or(0);
            for goal in &self.goals {
                let sign = if goal.at_least { '≥' } else { '≤' };
                let verdict = if goal.met() { "met" } else { "MISSED" };
                println!("{:width$}  {:>10.3}  {sign} {} {}  {verdict}", goal.name, goal.value, goal.target, goal.unit);
            }
        }
        let goals = std::mem::take(&mut self.goals);
        self.keep("targets", &goals);
        Value::Object(self.json)
    }
}

fn heading(title: &str) {
    println!("\n{title}\n{}", "-".repeat(title.chars().count()));
}

//! `toolgate new`: a project that builds.

use std::io::Write as _;
use std::path::Path;

use crate::args::{Language, New};
use crate::embedded::{SDKS, TEMPLATES};
use crate::exit::{Exit, Failure};

/// Names that are words of one of the languages, or packages that every project of one has.
const TAKEN: &[&str] = &[
    "abstract",
    "alloc",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "become",
    "box",
    "break",
    "case",
    "chan",
    "class",
    "const",
    "continue",
    "core",
    "crate",
    "def",
    "default",
    "defer",
    "del",
    "do",
    "dyn",
    "elif",
    "else",
    "enum",
    "except",
    "export",
    "extends",
    "extern",
    "fallthrough",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "gen",
    "global",
    "go",
    "goto",
    "if",
    "impl",
    "import",
    "in",
    "init",
    "instanceof",
    "interface",
    "is",
    "lambda",
    "let",
    "loop",
    "macro",
    "main",
    "map",
    "match",
    "mod",
    "move",
    "mut",
    "new",
    "none",
    "nonlocal",
    "not",
    "null",
    "or",
    "override",
    "package",
    "pass",
    "plugin",
    "priv",
    "proc-macro",
    "pub",
    "raise",
    "range",
    "ref",
    "return",
    "select",
    "self",
    "static",
    "std",
    "string",
    "struct",
    "super",
    "switch",
    "test",
    "this",
    "throw",
    "toolgate",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "unsized",
    "use",
    "var",
    "virtual",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

pub fn run(args: &New) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    check_name(name)?;
    let language = word(args.language);
    let sdk: Vec<_> = under(SDKS, language).collect();
    let kind = if args.hook { "hook" } else { "tool" };
    let template: Vec<_> = under(TEMPLATES, &format!("{language}/{kind}")).collect();
    if sdk.is_empty() || template.is_empty() {
        let what = format!("this build of toolgate has no SDK for {} in it", title(args.language));
        return Err(Failure::usage(format!("{what}; build it in a complete checkout of its repository")));
    }
    let dir = Path::new(name);
    let wrong = |path: &Path, error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    std::fs::create_dir(dir).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!("{name} is there already; nothing was changed")),
        _ => wrong(dir, error),
    })?;
    for (path, bytes) in template {
        // A manifest under its own name would be taken for one of this repository's.
        let path = path.strip_suffix(".tmpl").unwrap_or(path).replace("dot-", ".");
        let text =
            String::from_utf8_lossy(bytes).replace("{{name}}", name).replace("{{ident}}", &name.replace('-', "_"));
        let text = text.replace("{{Ident}}", &camel(name));
        let path = dir.join(path);
        write(&path, text.as_bytes()).map_err(|error| wrong(&path, error))?;
    }
    for (path, bytes) in sdk {
        let path = dir.join("toolgate").join(path);
        write(&path, bytes).map_err(|error| wrong(&path, error))?;
    }
    let call = match args.hook {
        true => "  # then name it in [[hooks]] of toolgate.toml".to_owned(),
        false => format!("  toolgate call {name}.wasm {} '{{\"name\": \"Ada\"}}'", name.replace('-', "_")),
    };
    // A closed standard output leaves nobody to tell.
    let _ = writeln!(
        std::io::stdout().lock(),
        "{name}/ is a {kind} in {}. Next:\n\n  cd {name}\n  toolgate build\n  toolgate test\n{call}",
        title(args.language)
    );
    Ok(Exit::Ok)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(allowed)
        && !name.ends_with('-')
        && !name.contains("--");
    if !good {
        return Err(Failure::usage(format!(
            "{name:?} can't be a plugin's name here: 1 to 64 of a-z, 0-9 and single -, beginning with a letter and not ending with -"
        )));
    }
    if TAKEN.contains(&name) {
        return Err(Failure::usage(format!("{name:?} is a word of a programming language; choose another name")));
    }
    Ok(())
}

/// The files below a folder, by their paths in it.
fn under<'a>(files: &'a [(&'a str, &'a [u8])], folder: &str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
    let folder = format!("{folder}/");
    files.iter().filter_map(move |(path, bytes)| Some((path.strip_prefix(&folder)?, *bytes)))
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    if bytes.starts_with(b"#!") {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn camel(name: &str) -> String {
    name.split('-')
        .map(|part| {
            let mut letters = part.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
        })
        .collect()
}

/// The folder of a language.
pub fn word(language: Language) -> &'static str {
    match language {
        Language::Rust => "rust",
        Language::Js => "js",
        Language::Go => "go",
        Language::Python => "python",
    }
}

/// A language in a sentence.
pub fn title(language: Language) -> &'static str {
    match language {
        Language::Rust => "Rust",
        Language::Js => "TypeScript",
        Language::Go => "Go",
        Language::Python => "Python",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_in_every_language() {
        for name in ["greet", "csv-stats2", "a"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in
            ["", "Greet", "2a", "-a", "a-", "a--b", "a_b", "a/b", "../a", "test", "lambda", "é", &"a".repeat(65)]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}

//! `toolgate new` and `toolgate build`: each language from nothing to passed cases, where its tools are there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Done, Workspace};

/// Said aloud: a language that was not tried is no language that works.
fn skip(language: &str, why: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Not print!: the test harness would keep it to itself.
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "SKIPPED ({count}): toolgate new and build in {language}: {why}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What a program printed, if it is there and does well.
fn says(program: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).env("RUSTUP_AUTO_INSTALL", "0").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn run_in(workspace: &Workspace, dir: &str, args: &[&str], env: &[(&str, String)]) -> Done {
    let mut command = workspace.command(args);
    command
        .current_dir(workspace.path().join(dir))
        .env_remove("VIRTUAL_ENV")
        .envs(env.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A tool and a hook, from nothing to passed cases.
fn from_nothing(language: &str, env: &[(&str, String)]) {
    let workspace = Workspace::bare();
    for (name, hook) in [("say-hello", false), ("watch-bash", true)] {
        let args: Vec<&str> = ["new", language, name].into_iter().chain(hook.then_some("--hook")).collect();
        let done = workspace.run(&args);
        assert_eq!(done.code, 0, "{}", done.err);
        let mut env = env.to_vec();
        if hook && language == "python" {
            // An active environment is used; the first project's has all that is needed, and making one takes minutes.
            env.push(("VIRTUAL_ENV", workspace.path().join("say-hello/.toolgate/venv").display().to_string()));
        }
        let built = run_in(&workspace, name, &["build"], &env);
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        assert!(built.out.starts_with(&format!("{name}.wasm  ")), "{}", built.out);
        let checked = run_in(&workspace, name, &["check", &format!("{name}.wasm")], &[]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
        let tested = run_in(&workspace, name, &["test"], &[]);
        assert_eq!((tested.code, tested.out.ends_with("4 cases passed\n")), (0, true), "{}{}", tested.out, tested.err);
    }
}

/// The compiler with a WebAssembly target, if there is one.
fn wasm_rustc() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let private = std::env::var_os("GUEST_TOOLCHAIN").map_or_else(|| cache.join("wasm-guest-toolchain"), PathBuf::from);
    [PathBuf::from("rustc"), private.join("bin/rustc")].into_iter().find(|rustc| {
        let sysroot = says(rustc, &["--print", "sysroot"]);
        sysroot.is_some_and(|sysroot| Path::new(&sysroot).join("lib/rustlib/wasm32-wasip2/lib").is_dir())
    })
}

/// Kept from run to run: the SDK's dependencies take minutes to compile.
fn rust_env(rustc: &Path) -> [(&'static str, String); 2] {
    let target = root().join("target/new-projects").display().to_string();
    [("RUSTC", rustc.display().to_string()), ("CARGO_TARGET_DIR", target)]
}

#[test]
fn rust_from_nothing_to_passed_cases() {
    let Some(rustc) = wasm_rustc() else { return skip("Rust", "no compiler here has the target wasm32-wasip2") };
    from_nothing("rust", &rust_env(&rustc));
}

/// The first block of a language that begins so.
fn block<'a>(document: &'a str, language: &str, begins: &str) -> &'a str {
    let blocks = document.split("```").filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    blocks.into_iter().find(|block| block.starts_with(begins)).unwrap()
}

#[test]
fn the_rust_tutorial_is_right() {
    let Some(rustc) = wasm_rustc() else {
        return skip("Rust's tutorial", "no compiler here has the target wasm32-wasip2");
    };
    let tutorial = std::fs::read_to_string(root().join("docs/tutorial-rust.md")).unwrap();
    let workspace = Workspace::bare();
    assert_eq!(workspace.run(&["new", "rust", "word-count"]).code, 0);
    workspace.write("word-count/src/lib.rs", block(&tutorial, "rust", "use toolgate_sdk"));
    workspace.write("word-count/cases.json", block(&tutorial, "json", "{\n  \"cases\""));
    let built = run_in(&workspace, "word-count", &["build"], &rust_env(&rustc));
    assert_eq!(built.code, 0, "{}", built.err);
    let tested = run_in(&workspace, "word-count", &["test"], &[]);
    assert_eq!((tested.code, tested.out.ends_with("4 cases passed\n")), (0, true), "{}{}", tested.out, tested.err);
    let checked = run_in(&workspace, "word-count", &["check", "word-count.wasm"], &[]);
    assert_eq!((checked.code, checked.out.contains("advice:")), (0, false), "{}", checked.out);
}

/// What scripts/languages.sh has brought up of a language, as `NAME=PATH` lines; installs nothing.
fn brought_up(language: &str) -> Result<String, String> {
    if !root().join("guest-sdk").join(language).is_dir() {
        return Err("its SDK is not here".into());
    }
    let script = root().join("scripts/languages.sh");
    let output = Command::new(script).args(["--no-install", language]).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{}; scripts/languages.sh {language} installs it",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

#[test]
fn javascript_from_nothing_to_passed_cases() {
    match brought_up("js") {
        Err(why) => skip("JavaScript", &why),
        // npm takes the packages from its cache by then.
        Ok(_) => from_nothing("js", &[("npm_config_prefer_offline", "true".into())]),
    }
}

#[test]
fn go_from_nothing_to_passed_cases() {
    match brought_up("go") {
        Err(why) => skip("Go", &why),
        Ok(found) => {
            let go = found.lines().find_map(|line| line.strip_prefix("go=")).unwrap().to_owned();
            let cache = root().join("target/go-cache").display().to_string();
            from_nothing("go", &[("GO", go), ("GOCACHE", cache)]);
        }
    }
}

#[test]
fn python_from_nothing_to_passed_cases() {
    match brought_up("python") {
        Err(why) => skip("Python", &why),
        Ok(_) => from_nothing("python", &[]),
    }
}

#[test]
fn nothing_is_overwritten_and_names_are_checked() {
    let workspace = Workspace::bare();
    workspace.write("mine", "precious");
    for (name, why) in [
        ("mine", "is there already"),
        ("../up", "can't be a plugin's name"),
        ("a b", "can't be"),
        ("fn", "is a word of a programming language"),
    ] {
        let done = workspace.run(&["new", "rust", name]);
        assert_eq!((done.code, done.err.contains(why)), (2, true), "{name}: {}", done.err);
    }
    assert_eq!(std::fs::read_to_string(workspace.path().join("mine")).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(workspace.path()).unwrap().count(), 1);
    assert_eq!(workspace.run(&["new", "cobol", "x"]).code, 2);
}

#[test]
fn a_rust_project_has_its_sdk_beside_it() {
    let workspace = Workspace::bare();
    let done = workspace.run(&["new", "rs", "my-tool"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("cd my-tool") && done.out.contains("toolgate call my-tool.wasm my_tool"), "{}", done.out);
    let dir = workspace.path().join("my-tool");
    for file in [
        "Cargo.toml",
        "src/lib.rs",
        "cases.json",
        "README.md",
        ".gitignore",
        "toolgate/guest-sdk/rust/macros/src/lib.rs",
        "toolgate/wit/plugin/tools.wit",
        "toolgate/LICENSE",
    ] {
        assert!(dir.join(file).is_file(), "{file}");
    }
    assert!(!dir.join("toolgate/guest-sdk/rust/tests").exists());
    let source = std::fs::read_to_string(dir.join("src/lib.rs")).unwrap();
    assert!(source.contains("fn my_tool(") && source.contains("\"MyTool\"") && !source.contains("{{"), "{source}");
    // The SDK's workspace has what the SDK asks for and nothing of the host's.
    let sdk = std::fs::read_to_string(dir.join("toolgate/Cargo.toml")).unwrap();
    assert!(sdk.contains("wit-bindgen") && !sdk.contains("wasmtime"), "{sdk}");
}

#[test]
fn a_missing_target_is_told_with_the_command_that_adds_it() {
    let Some(rustc) = says(Path::new("rustc"), &["--print", "sysroot"]) else {
        return skip("Rust", "no compiler is here");
    };
    if Path::new(&rustc).join("lib/rustlib/wasm32-wasip2").is_dir() {
        return skip("Rust without the target", "the target is there");
    }
    let workspace = Workspace::bare();
    workspace.run(&["new", "rust", "a"]);
    let done = run_in(&workspace, "a", &["build"], &[]);
    assert_eq!((done.code, done.err.contains("rustup target add wasm32-wasip2")), (2, true), "{}", done.err);
}

#[test]
fn missing_programs_and_projects_are_named() {
    let workspace = Workspace::bare();
    let done = workspace.run(&["build"]);
    assert_eq!((done.code, done.err.contains("no project here")), (2, true), "{}", done.err);
    for (file, text, program) in [
        ("Cargo.toml", "[package]\nname = \"a\"\n", "cargo"),
        ("package.json", "{\"name\": \"@scope/a\"}", "node"),
        ("go.mod", "module example.com/a\n", "go"),
        ("pyproject.toml", "[project]\nname = \"a\"\n", "python3"),
    ] {
        let workspace = Workspace::bare();
        workspace.write(file, text);
        workspace.write("requirements.txt", "");
        let mut command = workspace.command(&["build"]);
        let output = command
            .env("PATH", workspace.path())
            .env_remove("VIRTUAL_ENV")
            .env_remove("GO")
            .env_remove("RUSTC")
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), err.contains(&format!("{program} is not in the path"))),
            (Some(2), true),
            "{err}"
        );
    }
    workspace.write("go.mod", "module a\n");
    workspace.write("package.json", "{\"name\": \"a\"}");
    assert!(workspace.run(&["build"]).err.contains("several projects"));
    std::fs::remove_file(workspace.path().join("go.mod")).unwrap();
    workspace.write("package.json", "{\"name\": \"../../a\\n\"}");
    let done = workspace.run(&["build"]);
    assert_eq!(done.code, 2, "{}", done.err);
}

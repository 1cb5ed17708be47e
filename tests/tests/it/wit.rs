//! The contract parses, says what it must, and does not change by accident.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolgate_tests::guests::root;
use wit_parser::{Docs, Resolve};

/// Every file of a folder, by its path below it.
fn files(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(dir).unwrap().to_path_buf(), text);
            }
        }
    }
    found
}

fn parsed() -> Resolve {
    let mut resolve = Resolve::default();
    for package in ["wasi-io", "plugin", "plugin-io"] {
        resolve.push_path(root().join("wit").join(package)).unwrap_or_else(|error| panic!("{error:#}"));
    }
    resolve
}

#[test]
fn a_released_contract_does_not_change() {
    for package in ["plugin", "plugin-io"] {
        let live = files(&root().join("wit").join(package));
        let frozen = files(&root().join("wit/released/0.1.0").join(package));
        assert_eq!(
            live.keys().collect::<Vec<_>>(),
            frozen.keys().collect::<Vec<_>>(),
            "{package}: files were added or removed"
        );
        for (path, text) in &live {
            assert!(
                *text == frozen[path],
                "wit/{package}/{} differs from wit/released/0.1.0: components built for 0.1.0 must keep working. Give \
                 the contract a new version, and freeze that one beside it",
                path.display()
            );
        }
    }
}

#[test]
fn the_contract_parses_and_has_its_worlds_and_interfaces() {
    let resolve = parsed();
    let mut interfaces: Vec<_> = resolve
        .packages
        .iter()
        .filter(|(_, package)| package.name.namespace == "toolgate")
        .flat_map(|(_, package)| package.interfaces.keys().cloned())
        .collect();
    interfaces.sort();
    assert_eq!(
        interfaces,
        [
            "batch",
            "cancellation",
            "cancellation-event",
            "config",
            "hooks",
            "log",
            "progress",
            "state",
            "tools",
            "types"
        ]
    );
    let mut worlds: Vec<_> = resolve.worlds.iter().map(|(_, world)| world.name.clone()).collect();
    worlds.sort();
    for world in ["hook-plugin", "host", "plugin", "tool-plugin", "tool-plugin-io"] {
        assert!(worlds.iter().any(|name| name == world), "no world {world}");
    }
    let plugin = resolve.packages.iter().find(|(_, p)| p.name.name == "plugin").unwrap().1;
    assert_eq!(plugin.name.version.as_ref().unwrap().to_string(), "0.1.0");
}

#[test]
fn every_interface_function_and_type_is_documented() {
    let resolve = parsed();
    let documented = |docs: &Docs| docs.contents.as_ref().is_some_and(|text| !text.trim().is_empty());
    for (_, interface) in &resolve.interfaces {
        let package = interface.package.map(|id| &resolve.packages[id].name);
        if package.is_none_or(|name| name.namespace != "toolgate") {
            continue;
        }
        let name = interface.name.as_deref().unwrap_or("?");
        assert!(documented(&interface.docs), "interface {name} has no documentation");
        for (function, item) in &interface.functions {
            assert!(documented(&item.docs), "{name}.{function} has no documentation");
        }
        for (kind, id) in &interface.types {
            let item = &resolve.types[*id];
            let is_alias = matches!(item.kind, wit_parser::TypeDefKind::Type(_)) && name != "types";
            assert!(is_alias || documented(&item.docs), "{name}.{kind} has no documentation");
        }
    }
}

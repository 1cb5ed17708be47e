//! Components that are made to hurt whoever loads them: small files, refused at once and by name.

use toolgate::component::{Loader, PluginSpec, Source};
use toolgate_tests::guests;

async fn refused(text: &str) -> String {
    let bytes = wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"));
    let spec = PluginSpec::new("bad", Source::Bytes(bytes.into()));
    Loader::new(guests::engine()).load(spec).await.err().expect("loaded").to_string()
}

/// A component that exports an instance by this name, empty as it is.
fn exporting(name: &str, before: &str) -> String {
    format!("(component {before} (instance $e) (export \"{name}\" (instance $e)))")
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_components_that_multiply() {
    // Eight instances of eight instances of … of a module: 8^10, from a kilobyte.
    let mut inner = "(component $c0 (core module $m (memory 1)) (core instance (instantiate $m)))".to_owned();
    for level in 1..=10 {
        let instances = format!("(instance (instantiate $c{}))", level - 1).repeat(8);
        inner = format!("(component $c{level} {inner} {instances})");
    }
    let error =
        refused(&exporting("toolgate:plugin/tools@0.1.0", &format!("{inner} (instance (instantiate $c10))"))).await;
    assert!(error.contains("instantiates 1073741824 core modules, more than 40"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_would_keep_the_compiler_for_minutes() {
    let nested = format!("(func {} {})", "block ".repeat(50_000), "end ".repeat(50_000));
    let error = refused(&exporting("toolgate:plugin/tools@0.1.0", &format!("(core module {nested})"))).await;
    assert!(error.contains("nests more than 10000 blocks"), "{error}");
    let many = format!("(core module {})", "(func)".repeat(100_001));
    let error = refused(&exporting("toolgate:plugin/tools@0.1.0", &many)).await;
    assert!(error.contains("more than 100000 functions"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_nobody_provides_is_named() {
    let import = "(import \"acme:stuff/thing@1.0.0\" (instance (export \"f\" (func))))";
    let error = refused(&exporting("toolgate:plugin/tools@0.1.0", import)).await;
    assert!(error.contains("acme:stuff/thing@1.0.0"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_contract_version_is_refused_with_both_named() {
    for found in ["0.2.0", "0.1.1", "1.0.0"] {
        let error = refused(&exporting(&format!("toolgate:plugin/tools@{found}"), "")).await;
        assert!(error.contains(&format!("toolgate:plugin@{found}")), "{error}");
        assert!(error.contains("this host speaks toolgate:plugin@0.1.0"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_of_the_right_name_and_the_wrong_shape() {
    let error = refused(&exporting("toolgate:plugin/tools@0.1.0", "")).await;
    assert!(error.starts_with("plugin bad: ") && error.contains("definitions"), "{error}");
}

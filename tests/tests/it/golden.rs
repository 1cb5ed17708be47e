//! All golden scenarios, through the scripted components and natively.

use toolgate_tests::golden::{self, Scenario};

fn scenarios() -> Vec<Scenario> {
    let scenarios = golden::load_dir(&toolgate_tests::scenarios()).unwrap();
    assert_eq!(scenarios.len(), 63);
    scenarios
}

/// On a clock that stands still while anything can run, which makes every instant of the recording exact.
#[tokio::test(start_paused = true)]
async fn every_scenario_is_the_same_on_native_tools_and_hooks() {
    let mut different = Vec::new();
    for scenario in scenarios() {
        if let Some(difference) = golden::check(&scenario, &golden::native::Native).await {
            different.push(format!("{}: {difference}", scenario.name));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[cfg(feature = "component")]
#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_is_the_same_through_components() {
    let mut different = Vec::new();
    for replay in golden::component::Components::new().check_all(scenarios()) {
        let (name, difference) = replay.await.unwrap();
        different.extend(difference.map(|difference| format!("{name}: {difference}")));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

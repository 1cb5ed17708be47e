//! All golden scenarios on native tools and hooks, on a clock that stands still while anything can run.

use toolgate_tests::golden;

#[tokio::test(start_paused = true)]
async fn every_scenario_is_the_same_on_native_tools_and_hooks() {
    let scenarios = golden::load_dir(&toolgate_tests::scenarios()).expect("the scenarios load");
    assert_eq!(scenarios.len(), 63);
    let mut different = Vec::new();
    for scenario in &scenarios {
        if let Some(difference) = golden::check(scenario, &golden::native::Native).await {
            different.push(format!("{}: {difference}", scenario.name));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

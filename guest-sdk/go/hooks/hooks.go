// Package hooks makes a plugin export hooks. Importing it is what gives the component that export: a plugin that has
// none must not import it.
package hooks

import toolgate "toolgate.local/sdk"

// Export names the plugin's hooks. To be called once, in an init function of the main package.
func Export(hooks ...toolgate.Hook) {
	ExportFunc(func(*toolgate.Host) ([]toolgate.Hook, error) { return hooks, nil })
}

// ExportFunc has the plugin's hooks made at run time, for instance from the operator's settings. The function is called at
// load and again in every call, so it must give the same answer each time. An error it returns refuses the plugin at
// load.
func ExportFunc(make func(host *toolgate.Host) ([]toolgate.Hook, error)) { export(make) }

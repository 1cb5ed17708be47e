// Package tools makes a plugin export tools. Importing it is what gives the component that export: a plugin that has
// none must not import it.
package tools

import toolgate "toolgate.local/sdk"

// Export names the plugin's tools. To be called once, in an init function of the main package.
func Export(tools ...toolgate.AnyTool) {
	ExportFunc(func(*toolgate.Host) ([]toolgate.AnyTool, error) { return tools, nil })
}

// ExportFunc has the plugin's tools made at run time, for instance from the operator's settings. The function is called at
// load and again in every call, so it must give the same answer each time. An error it returns refuses the plugin at
// load.
func ExportFunc(make func(host *toolgate.Host) ([]toolgate.AnyTool, error)) { export(make) }

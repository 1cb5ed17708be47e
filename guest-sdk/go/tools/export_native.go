//go:build !wasip1

package tools

import toolgate "toolgate.local/sdk"

// Natively there is no component: tests call the tools themselves, with toolgatetest.
func export(func(host *toolgate.Host) ([]toolgate.AnyTool, error)) {}

package tools

import (
	_ "toolgate.local/sdk/internal/bindings/exports/tools" // the component's exports
	toolsexport "toolgate.local/sdk/internal/exports/tools"

	toolgate "toolgate.local/sdk"
)

func export(make func(host *toolgate.Host) ([]toolgate.AnyTool, error)) { toolsexport.Tools = make }

package hooks

import (
	_ "toolgate.local/sdk/internal/bindings/exports/hooks" // the component's exports
	hooksexport "toolgate.local/sdk/internal/exports/hooks"

	toolgate "toolgate.local/sdk"
)

func export(make func(host *toolgate.Host) ([]toolgate.Hook, error)) { hooksexport.Hooks = make }

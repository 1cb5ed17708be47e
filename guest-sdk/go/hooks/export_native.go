//go:build !wasip1

package hooks

import toolgate "toolgate.local/sdk"

// Natively there is no component: tests call the hooks themselves, with toolgatetest.
func export(func(host *toolgate.Host) ([]toolgate.Hook, error)) {}

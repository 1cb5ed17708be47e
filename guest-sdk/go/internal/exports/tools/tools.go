//go:build wasip1

// Package tools is what stands behind the contract's exports of tools.
package tools

import (
	"encoding/json"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_progress"
	contract "toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_tools"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_types"
	wit "toolgate.local/sdk/internal/bindings/wit/types"
	"toolgate.local/sdk/internal/guest"
	"toolgate.local/sdk/internal/run"
)

// Tools makes the plugin's tools.
var Tools = func(*toolgate.Host) ([]toolgate.AnyTool, error) { return nil, nil }

func init() {
	guest.Update = func(partial *toolgate.Result) error {
		converted, err := guest.Result(partial)
		if err == nil {
			toolgate_plugin_progress.Update(converted)
		}
		return err
	}
}

// Definitions is the export of that name.
func Definitions() []contract.Definition {
	defer guest.Loading()
	tools, err := Tools(guest.Host)
	if err != nil {
		guest.Fail("definitions", err)
	}
	definitions, err := run.Definitions(tools)
	if err != nil {
		guest.Fail("definitions", err)
	}
	converted := make([]contract.Definition, 0, len(definitions))
	for _, definition := range definitions {
		converted = append(converted, convert(definition))
	}
	return converted
}

func convert(definition toolgate.Definition) contract.Definition {
	mode := wit.None[uint8]()
	if definition.ExecutionMode == toolgate.Sequential {
		mode = wit.Some(toolgate_plugin_types.ExecutionMode_Sequential)
	}
	var exclusive []contract.ExclusiveKey
	for _, key := range definition.Exclusive {
		access := contract.Access_Read
		if key.Write {
			access = contract.Access_Write
		}
		exclusive = append(exclusive, contract.ExclusiveKey{Pointer: guest.Valid(key.Pointer), IsPath: key.IsPath, Access: access})
	}
	return contract.Definition{
		Name:              guest.Valid(definition.Name),
		Label:             guest.NonEmpty(definition.Label),
		Description:       guest.Valid(definition.Description),
		Parameters:        guest.Valid(string(definition.Parameters)),
		Output:            guest.Raw(definition.Output),
		ExecutionMode:     mode,
		Exclusive:         exclusive,
		PreparesArguments: definition.PreparesArguments,
		Hints: contract.Hints{
			ReadOnly:    guest.Flag(definition.Hints.ReadOnly),
			Destructive: guest.Flag(definition.Hints.Destructive),
			Idempotent:  guest.Flag(definition.Hints.Idempotent),
			OpenWorld:   guest.Flag(definition.Hints.OpenWorld),
		},
		Meta: guest.Raw(definition.Meta),
	}
}

// PrepareArguments is the export of that name.
func PrepareArguments(name string, args string) wit.Result[string, string] {
	tools, err := Tools(guest.Host)
	if err != nil {
		return wit.Err[string, string](guest.ErrorText(err))
	}
	prepared, err := run.Prepare(guest.Host, tools, name, json.RawMessage(args))
	if err != nil {
		return wit.Err[string, string](guest.ErrorText(err))
	}
	return wit.Ok[string, string](guest.Valid(string(prepared)))
}

// Execute is the export of that name.
func Execute(call toolgate_plugin_types.ToolCall) wit.Result[toolgate_plugin_types.ToolResult, contract.Failure] {
	converted, err := execute(call)
	if err == toolgate.ErrCancelled {
		return wit.Err[toolgate_plugin_types.ToolResult, contract.Failure](contract.MakeFailureCancelled())
	}
	if err != nil {
		return wit.Err[toolgate_plugin_types.ToolResult, contract.Failure](contract.MakeFailureFailed(guest.ErrorText(err)))
	}
	return wit.Ok[toolgate_plugin_types.ToolResult, contract.Failure](converted)
}

func execute(call toolgate_plugin_types.ToolCall) (toolgate_plugin_types.ToolResult, error) {
	tools, err := Tools(guest.Host)
	if err != nil {
		return toolgate_plugin_types.ToolResult{}, err
	}
	result, err := run.Execute(tools, toolgate.NewContext(guest.Host, guest.Call(call)))
	if err != nil {
		return toolgate_plugin_types.ToolResult{}, err
	}
	return guest.Result(result)
}

// Package run does a plugin's calls: it finds the tool or the hooks, and turns panics into errors. Without the
// contract's types, so that tests run it natively.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	toolgate "toolgate.local/sdk"
)

// Definitions is what these tools say about themselves.
func Definitions(tools []toolgate.AnyTool) ([]toolgate.Definition, error) {
	definitions := make([]toolgate.Definition, 0, len(tools))
	for _, tool := range tools {
		definition, err := tool.Definition()
		if err != nil {
			return nil, err
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// Prepare hands older arguments to the tool of a name.
func Prepare(host *toolgate.Host, tools []toolgate.AnyTool, name string, arguments json.RawMessage) (prepared json.RawMessage, err error) {
	defer recovered(host, "Tool "+name, &err)
	tool, err := find(tools, name)
	if err != nil {
		return nil, err
	}
	return tool.Prepare(arguments)
}

// Execute runs a call with the tool of its name. The error is toolgate.ErrCancelled itself where the tool stopped
// because the batch is cancelled.
func Execute(tools []toolgate.AnyTool, cx *toolgate.Context) (result *toolgate.Result, err error) {
	defer recovered(cx.Host, "Tool "+cx.Call().Name, &err)
	tool, err := find(tools, cx.Call().Name)
	if err != nil {
		return nil, err
	}
	result, err = tool.Run(cx)
	// Whoever was given the call's context reports context.Canceled.
	if errors.Is(err, toolgate.ErrCancelled) || errors.Is(err, context.Canceled) && cx.IsCancelled() {
		return nil, toolgate.ErrCancelled
	}
	if result == nil {
		result = &toolgate.Result{}
	}
	return result, err
}

func find(tools []toolgate.AnyTool, name string) (toolgate.AnyTool, error) {
	for _, tool := range tools {
		definition, err := tool.Definition()
		if err != nil {
			return nil, err
		}
		if definition.Name == name {
			return tool, nil
		}
	}
	return nil, fmt.Errorf("This plugin has no tool `%s`", name)
}

// recovered turns a panic into an error with its message; where it came from goes to the log.
func recovered(host *toolgate.Host, who string, err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("%s crashed: %v", who, value)
		host.Log().Error(fmt.Sprintf("panic: %v\n%s", value, debug.Stack()))
	}
}

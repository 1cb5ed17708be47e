//go:build wasip1

// Package hooks is what stands behind the contract's exports of hooks.
package hooks

import (
	"encoding/json"
	"time"

	toolgate "toolgate.local/sdk"
	contract "toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_hooks"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_types"
	wit "toolgate.local/sdk/internal/bindings/wit/types"
	"toolgate.local/sdk/internal/guest"
	"toolgate.local/sdk/internal/run"
)

// Hooks makes the plugin's hooks.
var Hooks = func(*toolgate.Host) ([]toolgate.Hook, error) { return nil, nil }

// Subscriptions is the export of that name.
func Subscriptions() []contract.Subscription {
	defer guest.Loading()
	hooks, err := Hooks(guest.Host)
	if err != nil {
		guest.Fail("subscriptions", err)
	}
	var subscriptions []contract.Subscription
	for _, hook := range hooks {
		tools := wit.None[[]string]()
		if hook.Tools != nil {
			tools = wit.Some(hook.Tools)
		}
		subscribe := func(event uint8, wanted bool) {
			if wanted {
				subscriptions = append(subscriptions, contract.Subscription{Event: event, Tools: tools})
			}
		}
		subscribe(contract.Event_BeforeToolCall, hook.BeforeToolCall != nil)
		subscribe(contract.Event_AfterToolCall, hook.AfterToolCall != nil)
		subscribe(contract.Event_Settled, hook.Settled != nil)
	}
	return subscriptions
}

// BeforeToolCall is the export of that name.
func BeforeToolCall(cx contract.BeforeContext) wit.Result[contract.Decision, string] {
	decision, err := before(cx)
	if err != nil {
		return wit.Err[contract.Decision, string](guest.ErrorText(err))
	}
	return wit.Ok[contract.Decision, string](decision)
}

func before(cx contract.BeforeContext) (contract.Decision, error) {
	hooks, err := Hooks(guest.Host)
	if err != nil {
		return contract.Decision{}, err
	}
	decision, err := run.Before(hooks, toolgate.BeforeContext{
		Host: guest.Host, Call: guest.Call(cx.Call), Arguments: json.RawMessage(cx.Arguments),
	})
	if err != nil {
		return contract.Decision{}, err
	}
	switch decision.Kind {
	case toolgate.DecisionReplace:
		arguments, err := toolgate.EncodeJSON(decision.Arguments)
		return contract.MakeDecisionReplaceArguments(arguments), err
	case toolgate.DecisionBlock:
		return contract.MakeDecisionBlock(contract.Block{
			Reason: guest.NonEmpty(decision.Reason), Terminate: decision.Terminate,
		}), nil
	case toolgate.DecisionAsk:
		return contract.MakeDecisionAsk(contract.Question{
			Title: guest.Valid(decision.Question.Title), Text: guest.Valid(decision.Question.Text),
		}), nil
	default:
		return contract.MakeDecisionAllow(), nil
	}
}

// AfterToolCall is the export of that name.
func AfterToolCall(cx contract.AfterContext) wit.Result[wit.Option[contract.Override], string] {
	override, err := after(cx)
	if err != nil {
		return wit.Err[wit.Option[contract.Override], string](guest.ErrorText(err))
	}
	return wit.Ok[wit.Option[contract.Override], string](override)
}

func after(cx contract.AfterContext) (wit.Option[contract.Override], error) {
	none := wit.None[contract.Override]()
	hooks, err := Hooks(guest.Host)
	if err != nil {
		return none, err
	}
	override, err := run.After(hooks, toolgate.AfterContext{
		Host: guest.Host, Call: guest.Call(cx.Call), Arguments: json.RawMessage(cx.Arguments),
		Result: guest.FromResult(cx.ToolResult), IsError: cx.IsError, Error: guest.FromError(cx.Error),
	})
	if err != nil || override == nil {
		return none, err
	}
	var converted contract.Override
	converted.Content = wit.None[[]toolgate_plugin_types.ContentBlock]()
	if override.Content != nil {
		content, err := guest.Content(override.Content)
		if err != nil {
			return none, err
		}
		converted.Content = wit.Some(content)
	}
	if converted.Details, err = guest.JSON("details", override.Details); err != nil {
		return none, err
	}
	if converted.StructuredContent, err = guest.JSON("structured content", override.StructuredContent); err != nil {
		return none, err
	}
	if converted.Usage, err = guest.JSON("usage", override.Usage); err != nil {
		return none, err
	}
	converted.IsError = guest.Flag(override.IsError)
	converted.Terminate = guest.Flag(override.Terminate)
	return wit.Some(converted), nil
}

// Settled is the export of that name.
func Settled(cx contract.SettledContext) {
	hooks, err := Hooks(guest.Host)
	if err != nil {
		guest.Host.Log().Error(err.Error())
		return
	}
	run.Settled(hooks, toolgate.SettledContext{
		Host: guest.Host, Call: guest.Call(cx.Call), Arguments: json.RawMessage(cx.Arguments),
		Result: guest.FromResult(cx.ToolResult), IsError: cx.IsError, Error: guest.FromError(cx.Error),
		Duration: time.Duration(cx.DurationMs * float64(time.Millisecond)),
	})
}

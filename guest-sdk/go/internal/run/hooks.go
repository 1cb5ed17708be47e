package run

import (
	"encoding/json"
	"errors"
	"slices"

	toolgate "toolgate.local/sdk"
)

func wants(hook toolgate.Hook, tool string) bool {
	return hook.Tools == nil || slices.Contains(hook.Tools, tool)
}

// Before asks the hooks about a call, one after another.
func Before(hooks []toolgate.Hook, cx toolgate.BeforeContext) (decision toolgate.Decision, err error) {
	defer recovered(cx.Host, "A hook", &err)
	replaced := false
	var asked *toolgate.Question
	for _, hook := range hooks {
		if hook.BeforeToolCall == nil || !wants(hook, cx.Call.Name) {
			continue
		}
		decision, err := hook.BeforeToolCall(&cx)
		if err != nil {
			return toolgate.Decision{}, err
		}
		switch decision.Kind {
		case toolgate.DecisionReplace:
			arguments, err := toolgate.EncodeJSON(decision.Arguments)
			if err != nil {
				return toolgate.Decision{}, err
			}
			cx.Arguments, replaced = json.RawMessage(arguments), true
		case toolgate.DecisionAsk:
			asked = both(asked, decision.Question)
		case toolgate.DecisionBlock:
			return decision, nil
		}
	}
	switch {
	case asked != nil && replaced:
		return toolgate.Decision{}, errors.New("One hook asked for approval and another hook of the same plugin replaced " +
			"the arguments; put the two hooks into plugins of their own")
	case asked != nil:
		return toolgate.Ask(asked.Title, asked.Text), nil
	case replaced:
		return toolgate.Replace(cx.Arguments), nil
	}
	return toolgate.Allow(), nil
}

// The contract carries one question per component; the person has to see both.
func both(first *toolgate.Question, second toolgate.Question) *toolgate.Question {
	if first == nil {
		return &second
	}
	return &toolgate.Question{Title: first.Title + "; " + second.Title, Text: first.Text + "\n\n" + second.Text}
}

// After shows the hooks a result, one after another. nil changes nothing.
func After(hooks []toolgate.Hook, cx toolgate.AfterContext) (all *toolgate.Override, err error) {
	defer recovered(cx.Host, "A hook", &err)
	for _, hook := range hooks {
		if hook.AfterToolCall == nil || !wants(hook, cx.Call.Name) {
			continue
		}
		override, err := hook.AfterToolCall(&cx)
		if err != nil {
			return nil, err
		}
		if override == nil {
			continue
		}
		apply(*override, &cx)
		if all == nil {
			all = override
		} else {
			all = then(*all, *override)
		}
	}
	return all, nil
}

func apply(override toolgate.Override, cx *toolgate.AfterContext) {
	if override.Content != nil {
		cx.Result.Content = override.Content
		cx.Result.StructuredContent = nil
	}
	cx.Result.Details = or(override.Details, cx.Result.Details)
	cx.Result.StructuredContent = or(override.StructuredContent, cx.Result.StructuredContent)
	cx.Result.Usage = or(override.Usage, cx.Result.Usage)
	if override.IsError != nil {
		cx.IsError = *override.IsError
	}
	if override.Terminate != nil {
		cx.Result.Terminate = override.Terminate
	}
}

// then is the override that does the first and then the second.
func then(first, second toolgate.Override) *toolgate.Override {
	if second.Content == nil {
		second.Content = first.Content
		second.StructuredContent = or(second.StructuredContent, first.StructuredContent)
	}
	second.Details = or(second.Details, first.Details)
	second.Usage = or(second.Usage, first.Usage)
	if second.IsError == nil {
		second.IsError = first.IsError
	}
	if second.Terminate == nil {
		second.Terminate = first.Terminate
	}
	return &second
}

func or(first, second any) any {
	if first != nil {
		return first
	}
	return second
}

// Settled tells the hooks of a call that is over.
func Settled(hooks []toolgate.Hook, cx toolgate.SettledContext) {
	var err error
	defer recovered(cx.Host, "A hook", &err)
	for _, hook := range hooks {
		if hook.Settled != nil && wants(hook, cx.Call.Name) {
			hook.Settled(&cx)
		}
	}
}

package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/internal/run"
	"toolgate.local/sdk/toolgatetest"
)

type none struct{}

func tool(execute func(cx *toolgate.Context, args none) (*toolgate.Result, error)) []toolgate.AnyTool {
	return []toolgate.AnyTool{toolgate.Tool[none]{Name: "t", Description: "d", Execute: execute}}
}

func TestAPanicIsAnErrorWithItsMessage(t *testing.T) {
	host := toolgatetest.New()
	_, err := run.Execute(tool(func(*toolgate.Context, none) (*toolgate.Result, error) {
		var missing map[string]int
		missing["x"] = 1
		return nil, nil
	}), host.Context("t", nil))
	if err == nil || !strings.Contains(err.Error(), "nil map") {
		t.Error(err)
	}
	logs := host.Logs()
	if len(logs) != 1 || logs[0].Level != toolgate.Error || !strings.Contains(logs[0].Message, "run_test.go") {
		t.Error(logs)
	}
}

func TestWhatStopsForACancellationIsCancelled(t *testing.T) {
	wrapped := tool(func(cx *toolgate.Context, _ none) (*toolgate.Result, error) {
		inner, stop := context.WithCancel(cx)
		defer stop()
		<-inner.Done()
		return nil, errors.Join(errors.New("the request was given up"), inner.Err())
	})
	host := toolgatetest.New()
	host.Cancel()
	if _, err := run.Execute(wrapped, host.Context("t", nil)); err != toolgate.ErrCancelled {
		t.Error(err)
	}
	own := tool(func(cx *toolgate.Context, _ none) (*toolgate.Result, error) {
		inner, stop := context.WithCancel(cx)
		stop()
		return nil, inner.Err()
	})
	if _, err := run.Execute(own, toolgatetest.New().Context("t", nil)); err == nil || err == toolgate.ErrCancelled {
		t.Error("a cancellation of the tool's own is an ordinary error:", err)
	}
}

func TestAToolThatIsNotThere(t *testing.T) {
	if _, err := run.Execute(nil, toolgatetest.New().Context("t", nil)); err == nil || !strings.Contains(err.Error(), "`t`") {
		t.Error(err)
	}
}

func before(decide func(cx *toolgate.BeforeContext) toolgate.Decision) toolgate.Hook {
	return toolgate.Hook{Tools: []string{"t"}, BeforeToolCall: func(cx *toolgate.BeforeContext) (toolgate.Decision, error) {
		return decide(cx), nil
	}}
}

func always(decision toolgate.Decision) toolgate.Hook {
	return before(func(*toolgate.BeforeContext) toolgate.Decision { return decision })
}

func decide(tool string, hooks ...toolgate.Hook) (toolgate.Decision, error) {
	return run.Before(hooks, toolgate.BeforeContext{
		Host: toolgatetest.New().Context(tool, nil).Host, Call: toolgate.Call{Name: tool}, Arguments: json.RawMessage("{}"),
	})
}

func TestBeforeHooksOfOnePluginActOneAfterAnother(t *testing.T) {
	replace := always(toolgate.Replace(map[string]int{"n": 1}))
	look := before(func(cx *toolgate.BeforeContext) toolgate.Decision {
		if string(cx.Arguments) == `{"n":1}` {
			return toolgate.Block("saw it")
		}
		return toolgate.Allow()
	})
	ask := always(toolgate.Ask("Sure?", "It deletes."))
	pay := always(toolgate.Ask("Pay?", "One euro."))
	block := always(toolgate.BlockAndTerminate("no"))
	for name, row := range map[string]struct {
		hooks    []toolgate.Hook
		expected toolgate.Decision
	}{
		"a replacement reaches the next": {[]toolgate.Hook{replace, look}, toolgate.Block("saw it")},
		"nothing to say":                 {[]toolgate.Hook{look, look}, toolgate.Allow()},
		"a block after an ask wins":      {[]toolgate.Hook{ask, block}, toolgate.BlockAndTerminate("no")},
		"a block wins over both":         {[]toolgate.Hook{ask, replace, block}, toolgate.BlockAndTerminate("no")},
		"questions become one":           {[]toolgate.Hook{ask, pay}, toolgate.Ask("Sure?; Pay?", "It deletes.\n\nOne euro.")},
	} {
		if found, err := decide("t", row.hooks...); err != nil || found != row.expected {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	if found, err := decide("other", block); err != nil || found != toolgate.Allow() {
		t.Error("not its tool:", found, err)
	}
	if _, err := decide("t", ask, replace); err == nil {
		t.Error("an ask beside a replacement has to fail closed")
	}
	boom := before(func(*toolgate.BeforeContext) toolgate.Decision { panic("boom") })
	if _, err := decide("t", boom); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Error("a panic refuses the call:", err)
	}
}

func text(override *toolgate.Override) string {
	return toolgate.Blocks(override.Content...).JoinedText()
}

func TestOverridesAddUpAsIfDoneOneAfterAnother(t *testing.T) {
	after := func(change func(cx *toolgate.AfterContext) *toolgate.Override) toolgate.Hook {
		return toolgate.Hook{AfterToolCall: func(cx *toolgate.AfterContext) (*toolgate.Override, error) { return change(cx), nil }}
	}
	data := after(func(*toolgate.AfterContext) *toolgate.Override {
		return &toolgate.Override{StructuredContent: 1, IsError: new(true)}
	})
	redact := after(func(cx *toolgate.AfterContext) *toolgate.Override {
		text := cx.Result.JoinedText() + " seen"
		if cx.Result.StructuredContent == 1 && cx.IsError {
			text = "both seen"
		}
		return &toolgate.Override{Content: []toolgate.Content{toolgate.TextBlock{Text: text}}}
	})
	run := func(hooks ...toolgate.Hook) *toolgate.Override {
		result := toolgate.Text("secret")
		result.StructuredContent = 0
		override, err := run.After(hooks, toolgate.AfterContext{Host: toolgatetest.New().Context("t", nil).Host, Result: *result})
		if err != nil {
			t.Fatal(err)
		}
		return override
	}
	first := run(data, redact)
	if first.StructuredContent != nil || !*first.IsError || text(first) != "both seen" {
		t.Errorf("%+v", first)
	}
	second := run(redact, data)
	if second.StructuredContent != 1 || text(second) != "secret seen" {
		t.Errorf("%+v", second)
	}
	if run() != nil {
		t.Error("no hook, no override")
	}
}

package toolgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/toolgatetest"
)

func TestStateCountsKeepsAndForgets(t *testing.T) {
	cx := toolgatetest.New().Context("t", nil)
	state := cx.State(toolgate.Turn)
	if sum, err := state.Add("n", 2); err != nil || sum != 2 {
		t.Error(sum, err)
	}
	if sum, err := state.Add("n", 0.5); err != nil || sum != 2.5 {
		t.Error(sum, err)
	}
	if found, err := cx.State(toolgate.Conversation).Get("n", new(0.0)); found || err != nil {
		t.Error("another scope has its own:", found, err)
	}
	kept := []string{"a", "<b>"}
	if err := state.Set("list", kept); err != nil {
		t.Error(err)
	}
	var list []string
	if found, err := state.Get("list", &list); !found || err != nil || !reflect.DeepEqual(list, kept) {
		t.Error(list, found, err)
	}
	if _, err := state.Get("list", new(0)); err == nil || !strings.Contains(err.Error(), "`list`") {
		t.Error(err)
	}
	state.Remove("list")
	if found, _ := state.Get("list", &list); found {
		t.Error("it was removed")
	}
	if _, err := state.Add("word", 1); err != nil {
		t.Error(err)
	}
	_ = state.Set("word", "x")
	if _, err := state.Add("word", 1); err == nil {
		t.Error("a word is no number")
	}
}

func TestSettingsAreReadInTheirType(t *testing.T) {
	host := toolgatetest.New()
	host.Config = map[string]any{"limit": 3, "name": 7}
	cx := host.Context("t", nil)
	var limit int
	if found, err := cx.ConfigKey("limit", &limit); !found || err != nil || limit != 3 {
		t.Error(limit, found, err)
	}
	if found, err := cx.ConfigKey("other", &limit); found || err != nil {
		t.Error(found, err)
	}
	var settings struct {
		Name string `json:"name"`
	}
	if err := cx.Config(&settings); err == nil || !strings.Contains(err.Error(), "`name`") {
		t.Error(err)
	}
	if text := string(cx.ConfigJSON()); text != `{"limit":3,"name":7}` {
		t.Error(text)
	}
}

func TestAContextIsDoneOnceTheBatchIsCancelled(t *testing.T) {
	host := toolgatetest.New()
	cx := host.Context("t", nil)
	if cx.Err() != nil || cx.IsCancelled() || cx.Wait(time.Millisecond) != nil {
		t.Error("not yet cancelled")
	}
	done := cx.Done()
	select {
	case <-done:
		t.Error("not yet cancelled")
	default:
	}
	host.Cancel()
	<-done
	if err := cx.Wait(time.Hour); !errors.Is(err, toolgate.ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !errors.Is(cx.Err(), context.Canceled) {
		t.Error(cx.Err())
	}
}

func TestSlogWritesTheHostsLog(t *testing.T) {
	host := toolgatetest.New()
	log := host.Context("t", nil).Log().With("tool", "t").WithGroup("file")
	log.Warn("read", "path", "a b", "size", 3, slog.Group("at", "line", 1))
	log.Log(t.Context(), toolgate.LevelTrace, "step")
	expected := []toolgatetest.Line{
		{Level: toolgate.Warn, Message: `read tool=t file.path="a b" file.size=3 file.at.line=1`},
		{Level: toolgate.Trace, Message: "step tool=t"},
	}
	if logs := host.Logs(); !reflect.DeepEqual(logs, expected) {
		t.Errorf("%+v", logs)
	}
}

type args struct {
	Name string `json:"name"`
}

func TestAToolRunsAsTheHostRunsIt(t *testing.T) {
	greet := toolgate.Tool[args]{
		Name: "greet", Description: "Greets.",
		PrepareArguments: func(old json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strings.Replace(string(old), "who", "name", 1)), nil
		},
		Execute: func(cx *toolgate.Context, args args) (*toolgate.Result, error) {
			cx.Update(toolgate.Text("half"))
			return toolgate.JSON(map[string]string{"hello": args.Name + "<"})
		},
	}
	host := toolgatetest.New()
	result, err := host.Call(greet, map[string]string{"who": "Ada"})
	if err != nil || result.JoinedText() != `{"hello":"Ada<"}` {
		t.Error(result, err)
	}
	if updates := host.Updates(); len(updates) != 1 || updates[0].JoinedText() != "half" {
		t.Error(updates)
	}
	definition, err := greet.Definition()
	if err != nil || !definition.PreparesArguments || !strings.Contains(string(definition.Parameters), `"name"`) {
		t.Error(definition, err)
	}
	if _, err := (toolgate.Tool[args]{Name: "empty"}).Definition(); err == nil {
		t.Error("a tool without Execute has no definition")
	}
}

func TestAFileErrorTellsTheGrants(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist}
	if text := toolgate.ErrorText(missing, []string{"/workspace"}); !strings.Contains(text, "/workspace") {
		t.Error(text)
	}
	if text := toolgate.ErrorText(errors.New("other"), []string{"/workspace"}); text != "other" {
		t.Error(text)
	}
}

// The conformance plugin in Go: the tools and hooks that tests/conformance/cases.json drives, the same in each language.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/hooks"
	"toolgate.local/sdk/tools"
)

func init() {
	tools.Export(
		toolgate.Tool[echoArgs]{
			Name: "echo", Label: "Echo", Description: "Answers with the text it was given.",
			Hints:   toolgate.Hints{ReadOnly: new(true), Idempotent: new(true)},
			Execute: echo,
		},
		toolgate.Tool[failArgs]{Name: "fail", Description: "Fails in one of the ways there are.", Execute: fail},
		toolgate.Tool[progressArgs]{Name: "progress", Description: "Sends updates.", Execute: progress},
		toolgate.Tool[sleepArgs]{Name: "sleep", Description: "Sleeps, unless it is cancelled.", Execute: sleep},
		toolgate.Tool[countArgs]{Name: "count", Description: "Adds to a number of the state.", Execute: count},
		toolgate.Tool[rememberArgs]{
			Name: "remember", Description: "Keeps, tells or forgets a text.",
			Exclusive: []toolgate.ExclusiveKey{{Pointer: "/key", Write: true}},
			Execute:   remember,
		},
		toolgate.Tool[numberArgs]{
			Name: "number", Description: "Answers with the number it was given, digit by digit.",
			Output:  toolgate.MustOutputSchemaOf[numberArgs](),
			Execute: number,
		},
		toolgate.Tool[sizeArgs]{Name: "size", Description: "Tells the length of a text in bytes.", Execute: size},
		toolgate.Tool[makeArgs]{Name: "make", Description: "Makes a text of that many bytes.", Execute: makeText},
		toolgate.Tool[struct{}]{Name: "media", Description: "Answers with a block of every kind.", Execute: media},
		toolgate.Tool[struct{}]{Name: "settings", Description: "Tells the plugin's settings.", Execute: settings},
		toolgate.Tool[logsArgs]{Name: "logs", Description: "Writes a line to the log.", Execute: logs},
		toolgate.Tool[struct{}]{
			Name: "where", Description: "Tells the call's place in its batch.",
			Output: toolgate.MustOutputSchemaOf[place](), Execute: where,
		},
		toolgate.Tool[preparedArgs]{
			Name: "prepared", Description: "Greets; takes an old shape of its arguments too.",
			PrepareArguments: renameWho, Execute: prepared,
		},
	)
	hooks.Export(toolgate.Hook{Tools: []string{"echo"}, BeforeToolCall: before, AfterToolCall: after}, toolgate.Hook{Settled: settled})
}

func main() {}

type echoArgs struct {
	Text string `json:"text" description:"What to answer."`
}

func echo(_ *toolgate.Context, args echoArgs) (*toolgate.Result, error) {
	result := toolgate.Text(args.Text)
	result.Details = map[string]int{"codePoints": utf8.RuneCountInString(args.Text)}
	return result, nil
}

type failArgs struct {
	How     string `json:"how" toolgate:"enum=error|throw|reported|trap"`
	Message string `json:"message"`
}

func fail(_ *toolgate.Context, args failArgs) (*toolgate.Result, error) {
	switch args.How {
	case "error":
		return nil, errors.New(args.Message)
	case "throw":
		panic(args.Message)
	case "reported":
		result := toolgate.Text(args.Message)
		result.IsError = true
		return result, nil
	default:
		// Outside of the memory. Through a nil pointer it would be a panic.
		return toolgate.Textf("%d", *(*byte)(unsafe.Add(nil, 0xfffffff0))), nil
	}
}

type progressArgs struct {
	Steps int `json:"steps" toolgate:"min=0"`
}

func progress(cx *toolgate.Context, args progressArgs) (*toolgate.Result, error) {
	for i := range args.Steps {
		cx.Update(toolgate.Textf("step %d of %d", i+1, args.Steps))
	}
	return toolgate.Text("done"), nil
}

type sleepArgs struct {
	Ms int64 `json:"ms" toolgate:"min=0"`
}

func sleep(cx *toolgate.Context, args sleepArgs) (*toolgate.Result, error) {
	if err := cx.Wait(time.Duration(args.Ms) * time.Millisecond); err != nil {
		return nil, err
	}
	return toolgate.Text("slept"), nil
}

type countArgs struct {
	Key   string  `json:"key"`
	By    float64 `json:"by"`
	Scope string  `json:"scope" toolgate:"enum=turn|conversation"`
}

func count(cx *toolgate.Context, args countArgs) (*toolgate.Result, error) {
	scope := toolgate.Turn
	if args.Scope == "conversation" {
		scope = toolgate.Conversation
	}
	sum, err := cx.State(scope).Add(args.Key, args.By)
	if err != nil {
		return nil, err
	}
	text, err := toolgate.EncodeJSON(sum)
	return toolgate.Text(text), err
}

type rememberArgs struct {
	Key    string  `json:"key"`
	Value  *string `json:"value"`
	Remove bool    `json:"remove,omitempty"`
}

func remember(cx *toolgate.Context, args rememberArgs) (*toolgate.Result, error) {
	state := cx.State(toolgate.Conversation)
	switch {
	case args.Remove:
		state.Remove(args.Key)
		return toolgate.Text("ok"), nil
	case args.Value != nil:
		return toolgate.Text("ok"), state.Set(args.Key, *args.Value)
	}
	text := "(nothing)"
	_, err := state.Get(args.Key, &text)
	return toolgate.Text(text), err
}

type numberArgs struct {
	Value json.Number `json:"value"`
}

func number(_ *toolgate.Context, args numberArgs) (*toolgate.Result, error) {
	result := toolgate.Text(args.Value.String())
	result.StructuredContent = args
	return result, nil
}

type sizeArgs struct {
	Data string `json:"data"`
}

func size(_ *toolgate.Context, args sizeArgs) (*toolgate.Result, error) {
	return toolgate.Text(strconv.Itoa(len(args.Data))), nil
}

type makeArgs struct {
	Bytes int `json:"bytes" toolgate:"min=0"`
}

func makeText(_ *toolgate.Context, args makeArgs) (*toolgate.Result, error) {
	return toolgate.Text(strings.Repeat("x", args.Bytes)), nil
}

func media(*toolgate.Context, struct{}) (*toolgate.Result, error) {
	return toolgate.Blocks(
		toolgate.TextBlock{Text: "all"},
		toolgate.ImageBlock{Data: []byte("\x89PNG\r\n\x1a\n"), MimeType: "image/png"},
		toolgate.AudioBlock{Data: []byte{0, 1, 2, 3, 4, 5, 6, 7}, MimeType: "audio/wav"},
		toolgate.ResourceLink{URI: "file:///a.txt", Name: "a.txt", Title: "A", MimeType: "text/plain", Size: new(int64(3))},
		toolgate.EmbeddedResource{URI: "mem://t", Text: "é"},
		toolgate.EmbeddedResource{URI: "mem://b", Blob: []byte{0, 255}},
	), nil
}

func settings(cx *toolgate.Context, _ struct{}) (*toolgate.Result, error) {
	text, err := toolgate.EncodeJSON(cx.ConfigJSON())
	return toolgate.Text(text), err
}

type logsArgs struct {
	Level   string `json:"level" toolgate:"enum=trace|debug|info|warn|error"`
	Message string `json:"message"`
}

func logs(cx *toolgate.Context, args logsArgs) (*toolgate.Result, error) {
	levels := map[string]slog.Level{
		"trace": toolgate.LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError,
	}
	slog.Log(cx, levels[args.Level], args.Message)
	return toolgate.Text("logged"), nil
}

type place struct {
	Position     int    `json:"position"`
	Size         int    `json:"size"`
	Turn         string `json:"turn"`
	Conversation string `json:"conversation"`
}

func where(cx *toolgate.Context, _ struct{}) (*toolgate.Result, error) {
	batch := cx.Batch()
	result := toolgate.Text("ok")
	result.StructuredContent = place{batch.Position(), batch.Size(), batch.Turn(), batch.Conversation()}
	return result, nil
}

type preparedArgs struct {
	Name string `json:"name"`
}

func renameWho(arguments json.RawMessage) (json.RawMessage, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, err
	}
	if who, old := args["who"]; old {
		delete(args, "who")
		args["name"] = who
	}
	return json.Marshal(args)
}

func prepared(_ *toolgate.Context, args preparedArgs) (*toolgate.Result, error) {
	return toolgate.Text("hello " + args.Name), nil
}

func before(cx *toolgate.BeforeContext) (toolgate.Decision, error) {
	var args echoArgs
	if err := cx.ParseArguments(&args); err != nil {
		return toolgate.Decision{}, err
	}
	switch args.Text {
	case "block me":
		return toolgate.Block("not this"), nil
	case "ask me":
		return toolgate.Ask("Sure?", "echo asks"), nil
	case "change me":
		return toolgate.Replace(echoArgs{"changed"}), nil
	case "fail me":
		return toolgate.Decision{}, errors.New("hook broke")
	}
	return toolgate.Allow(), nil
}

func after(cx *toolgate.AfterContext) (*toolgate.Override, error) {
	if cx.Result.JoinedText() != "secret" {
		return nil, nil
	}
	return &toolgate.Override{Content: []toolgate.Content{toolgate.TextBlock{Text: "[redacted]"}}}, nil
}

func settled(cx *toolgate.SettledContext) {
	slog.Info(fmt.Sprintf("settled %s %t", cx.Call.Name, cx.IsError))
}

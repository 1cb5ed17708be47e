// Package toolgatetest plays the host in native tests:
//
//	func TestGreets(t *testing.T) {
//		host := toolgatetest.New()
//		host.Config = map[string]any{"greeting": "hi"}
//		result, err := host.Call(greet, Args{Name: "Ada"})
//		..
//	}
//
// What it does not play: validation and coercion of arguments, grants, limits, the order of calls. `toolgate call` and
// `toolgate test` run the built component with all of them.
package toolgatetest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/internal/run"
)

// Line is a line of the log.
type Line struct {
	Level   toolgate.Level
	Message string
}

// Host is a stand-in for the host. Its fields are to be set before the first call.
type Host struct {
	// The operator's settings; written as JSON.
	Config any

	cancelled atomic.Bool
	mutex     sync.Mutex
	updates   []*toolgate.Result
	logs      []Line
	state     map[string][]byte
}

// New makes a host without settings.
func New() *Host { return &Host{Config: struct{}{}, state: map[string][]byte{}} }

// Cancel cancels the batch.
func (host *Host) Cancel() { host.cancelled.Store(true) }

// Updates is the partial results since the last time this was asked.
func (host *Host) Updates() []*toolgate.Result {
	host.mutex.Lock()
	defer host.mutex.Unlock()
	updates := host.updates
	host.updates = nil
	return updates
}

// Logs is the log lines since the last time this was asked.
func (host *Host) Logs() []Line {
	host.mutex.Lock()
	defer host.mutex.Unlock()
	logs := host.logs
	host.logs = nil
	return logs
}

// Call calls a tool (its PrepareArguments too, where it has one) with arguments that are written as JSON; a
// json.RawMessage goes as it is. They are not validated against the schema. A panic stays one.
func (host *Host) Call(tool toolgate.AnyTool, arguments any) (*toolgate.Result, error) {
	definition, err := tool.Definition()
	if err != nil {
		return nil, err
	}
	prepared := encode(arguments)
	if definition.PreparesArguments {
		if prepared, err = tool.Prepare(prepared); err != nil {
			return nil, err
		}
	}
	result, err := tool.Run(host.Context(definition.Name, prepared))
	if err == nil && result == nil {
		result = &toolgate.Result{}
	}
	return result, err
}

// Context is that of a call, to call a tool's function with.
func (host *Host) Context(tool string, arguments any) *toolgate.Context {
	return toolgate.NewContext(host.host(), toolgate.Call{ID: "call-1", Name: tool, Arguments: encode(arguments)})
}

// Before asks a hook about a call, if it wants to be asked about that tool.
func (host *Host) Before(hook toolgate.Hook, tool string, arguments any) (toolgate.Decision, error) {
	text := encode(arguments)
	return run.Before([]toolgate.Hook{hook}, toolgate.BeforeContext{
		Host: host.host(), Call: toolgate.Call{ID: "call-1", Name: tool, Arguments: text}, Arguments: text,
	})
}

// After shows a hook the result of a call, if it wants to see that tool's. nil changes nothing.
func (host *Host) After(hook toolgate.Hook, tool string, arguments any, result *toolgate.Result) (*toolgate.Override, error) {
	text := encode(arguments)
	return run.After([]toolgate.Hook{hook}, toolgate.AfterContext{
		Host: host.host(), Call: toolgate.Call{ID: "call-1", Name: tool, Arguments: text}, Arguments: text,
		Result: *result, IsError: result.IsError,
	})
}

func (host *Host) host() *toolgate.Host { return toolgate.NewHost(backend{host}) }

func encode(value any) json.RawMessage {
	if value == nil {
		return json.RawMessage("{}")
	}
	text, err := toolgate.EncodeJSON(value)
	if err != nil {
		panic(err)
	}
	return json.RawMessage(text)
}

type backend struct{ host *Host }

func (b backend) Update(partial *toolgate.Result) error {
	b.host.mutex.Lock()
	defer b.host.mutex.Unlock()
	b.host.updates = append(b.host.updates, partial)
	return nil
}

func (b backend) IsCancelled() bool { return b.host.cancelled.Load() }

func (b backend) Wait(milliseconds uint32) bool {
	for end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond); time.Now().Before(end); {
		if b.IsCancelled() {
			return true
		}
		time.Sleep(min(time.Until(end), time.Millisecond))
	}
	return b.IsCancelled()
}

func (b backend) WriteLog(level toolgate.Level, message string) {
	b.host.mutex.Lock()
	defer b.host.mutex.Unlock()
	b.host.logs = append(b.host.logs, Line{level, message})
}

func stateKey(scope toolgate.Scope, key string) string { return fmt.Sprint(scope, key) }

func (b backend) StateGet(scope toolgate.Scope, key string) ([]byte, bool) {
	b.host.mutex.Lock()
	defer b.host.mutex.Unlock()
	value, found := b.host.state[stateKey(scope, key)]
	return value, found
}

func (b backend) StateSet(scope toolgate.Scope, key string, value []byte) error {
	b.host.mutex.Lock()
	defer b.host.mutex.Unlock()
	b.host.state[stateKey(scope, key)] = append([]byte{}, value...)
	return nil
}

func (b backend) StateRemove(scope toolgate.Scope, key string) {
	b.host.mutex.Lock()
	defer b.host.mutex.Unlock()
	delete(b.host.state, stateKey(scope, key))
}

func (b backend) StateAdd(scope toolgate.Scope, key string, delta float64) (float64, error) {
	b.host.mutex.Lock()
	defer b.host.mutex.Unlock()
	old := 0.0
	if bytes, found := b.host.state[stateKey(scope, key)]; found {
		var err error
		if old, err = strconv.ParseFloat(string(bytes), 64); err != nil {
			return 0, fmt.Errorf("the value of `%s` is no number", key)
		}
	}
	b.host.state[stateKey(scope, key)] = strconv.AppendFloat(nil, old+delta, 'g', -1, 64)
	return old + delta, nil
}

func (b backend) ConfigGet(key string) (string, bool) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(encode(b.host.Config), &all); err != nil {
		panic(fmt.Sprintf("Config is to be an object: %v", err))
	}
	value, found := all[key]
	return string(value), found
}

func (b backend) ConfigAll() string        { return string(encode(b.host.Config)) }
func (b backend) Position() uint32         { return 0 }
func (b backend) Size() uint32             { return 1 }
func (b backend) Turn() string             { return "turn-1" }
func (b backend) Conversation() string     { return "conversation-1" }
func (b backend) AssistantMessage() string { return "null" }
func (b backend) GrantedPaths() []string   { return nil }

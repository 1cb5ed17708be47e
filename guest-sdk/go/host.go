package toolgate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"
)

// Scope says how long a value of [Host.State] lives.
type Scope int

const (
	// Turn lasts as long as the model's turn.
	Turn Scope = iota
	// Conversation lasts as long as the conversation.
	Conversation
)

// Level is how grave a log line is.
type Level int

// The levels of log lines.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Backend is what stands behind a [Host]: the contract's imports in a component, the package toolgatetest in tests.
type Backend interface {
	Update(partial *Result) error
	IsCancelled() bool
	Wait(milliseconds uint32) bool
	WriteLog(level Level, message string)
	StateGet(scope Scope, key string) (value []byte, found bool)
	StateSet(scope Scope, key string, value []byte) error
	StateRemove(scope Scope, key string)
	StateAdd(scope Scope, key string, delta float64) (float64, error)
	ConfigGet(key string) (value string, found bool)
	ConfigAll() string
	Position() uint32
	Size() uint32
	Turn() string
	Conversation() string
	AssistantMessage() string
	GrantedPaths() []string
}

// Host is the host's side of a call; every context has it. It is a context.Context, which is done once the batch is
// cancelled. At load only the settings and the log are there.
type Host struct {
	backend Backend
	once    sync.Once
	done    chan struct{}
}

var _ context.Context = (*Host)(nil)

// NewHost makes a host of what stands behind it; components and toolgatetest do so.
func NewHost(backend Backend) *Host {
	return &Host{backend: backend}
}

// How often Done looks at the flag.
const pollInterval = 10 * time.Millisecond

// Deadline is part of context.Context. The call's deadline is the host's own business: there is none to see.
func (host *Host) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done is closed within some milliseconds once the batch is cancelled, while this goroutine waits for something. In a
// loop that computes, ask Err.
func (host *Host) Done() <-chan struct{} {
	host.once.Do(func() {
		host.done = make(chan struct{})
		go func() {
			for !host.backend.IsCancelled() {
				time.Sleep(pollInterval)
			}
			close(host.done)
		}()
	})
	return host.done
}

// Err is [ErrCancelled] once the batch is cancelled, and nil before. Cheap enough to ask in a loop.
func (host *Host) Err() error {
	if host.backend.IsCancelled() {
		return ErrCancelled
	}
	return nil
}

// Value is part of context.Context; it holds none.
func (host *Host) Value(any) any { return nil }

// IsCancelled tells whether the batch is cancelled. A tool that sees it should stop and return [ErrCancelled].
func (host *Host) IsCancelled() bool { return host.backend.IsCancelled() }

// Wait sleeps, but not beyond cancellation: then it returns [ErrCancelled], which the tool may return as it is. The
// call's deadline goes on meanwhile. Other goroutines stand still; where they shall not, select on Done and time.After.
func (host *Host) Wait(duration time.Duration) error {
	milliseconds := max(0, (duration+time.Millisecond-1)/time.Millisecond)
	if host.backend.Wait(uint32(min(milliseconds, math.MaxUint32))) {
		return ErrCancelled
	}
	return nil
}

// Log writes lines for the operator; neither model nor user sees them. In a component it is slog's default logger too.
func (host *Host) Log() *slog.Logger { return slog.New(NewLogHandler(host.backend)) }

// Config reads the operator's settings for this plugin ([plugins.NAME.config]) into what value points to. Settings are
// not checked before they are read: to refuse wrong ones at load, read them in a function given to tools.ExportFunc.
func (host *Host) Config(value any) error {
	if err := decode(host.backend.ConfigAll(), value); err != nil {
		return fmt.Errorf("The plugin's configuration does not fit: %w", err)
	}
	return nil
}

// ConfigKey reads one of the operator's settings into what value points to, and tells whether there is one.
func (host *Host) ConfigKey(key string, value any) (found bool, err error) {
	text, found := host.backend.ConfigGet(key)
	if !found {
		return false, nil
	}
	if err := decode(text, value); err != nil {
		return true, fmt.Errorf("The plugin's setting `%s` does not fit: %w", key, err)
	}
	return true, nil
}

// ConfigJSON is all settings as the operator wrote them: an object, in its order and with its digits.
func (host *Host) ConfigJSON() json.RawMessage { return json.RawMessage(host.backend.ConfigAll()) }

// State is what outlives the instance.
func (host *Host) State(scope Scope) State { return State{host.backend, scope} }

// Batch is the calls of the assistant message that this call belongs to.
func (host *Host) Batch() Batch { return Batch{host.backend} }

// GrantedPaths is the guest paths of the granted directories.
func (host *Host) GrantedPaths() []string { return host.backend.GrantedPaths() }

// State is the plugin's own store of one scope, bounded by the host in keys and bytes. Values are JSON unless the
// methods on bytes are used.
type State struct {
	backend Backend
	scope   Scope
}

// Get reads a value kept earlier into what value points to, and tells whether there is one.
func (state State) Get(key string, value any) (found bool, err error) {
	bytes, found := state.GetBytes(key)
	if !found {
		return false, nil
	}
	if err := decode(string(bytes), value); err != nil {
		return true, fmt.Errorf("The state kept under `%s` has another shape: %w", key, err)
	}
	return true, nil
}

// Set keeps a value. An error where the host's limits of keys or bytes are reached.
func (state State) Set(key string, value any) error {
	text, err := EncodeJSON(value)
	if err != nil {
		return fmt.Errorf("The value for `%s` can't be written as JSON: %w", key, err)
	}
	return state.SetBytes(key, []byte(text))
}

// Add adds atomically to a number (absent = 0) and returns the sum: the way to count across calls that run at the same
// time. An error where the value is no number or a limit is reached.
func (state State) Add(key string, delta float64) (float64, error) {
	return state.backend.StateAdd(state.scope, key, delta)
}

// Remove forgets a value.
func (state State) Remove(key string) { state.backend.StateRemove(state.scope, key) }

// GetBytes is bytes kept earlier.
func (state State) GetBytes(key string) (value []byte, found bool) {
	return state.backend.StateGet(state.scope, key)
}

// SetBytes keeps bytes. An error where the host's limits are reached.
func (state State) SetBytes(key string, value []byte) error {
	return state.backend.StateSet(state.scope, key, value)
}

// Batch is the calls of one assistant message. Each method asks the host.
type Batch struct{ backend Backend }

// Position is that of this call in the model's order, from 0.
func (batch Batch) Position() int { return int(batch.backend.Position()) }

// Size is the number of calls.
func (batch Batch) Size() int { return int(batch.backend.Size()) }

// Turn is the turn's name; state of that scope lives as long as it.
func (batch Batch) Turn() string { return batch.backend.Turn() }

// Conversation is the conversation's name; state of that scope lives as long as it.
func (batch Batch) Conversation() string { return batch.backend.Conversation() }

// AssistantMessage is the message that holds the calls; null where the host was given none.
func (batch Batch) AssistantMessage() json.RawMessage {
	return json.RawMessage(batch.backend.AssistantMessage())
}

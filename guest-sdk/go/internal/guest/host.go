//go:build wasip1

// Package guest is the border to the contract: the host's side through its imports, and the conversions between the
// contract's records and the SDK's types.
package guest

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"structs"
	"unsafe"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_batch"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_cancellation"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_config"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_log"
	"toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_state"
)

// Host is the host's side of every call.
var Host = toolgate.NewHost(backend{})

// Update is how partial results leave; set by the package of the tools, since a hook has no such import.
var Update = func(*toolgate.Result) error { return nil }

func init() {
	slog.SetDefault(slog.New(toolgate.NewLogHandler(backend{})))
}

type backend struct{}

func (backend) Update(partial *toolgate.Result) error { return Update(partial) }
func (backend) IsCancelled() bool                     { return toolgate_plugin_cancellation.IsCancelled() }
func (backend) Wait(milliseconds uint32) bool         { return toolgate_plugin_cancellation.Wait(milliseconds) }

func (backend) WriteLog(level toolgate.Level, message string) {
	// The SDK's levels are in the contract's order.
	toolgate_plugin_log.Write(uint8(level), valid(message))
}

func (backend) StateGet(scope toolgate.Scope, key string) ([]byte, bool) {
	value := toolgate_plugin_state.Get(uint8(scope), valid(key))
	return value.SomeOr(nil), value.IsSome()
}

func (backend) StateSet(scope toolgate.Scope, key string, value []byte) error {
	if result := toolgate_plugin_state.Set(uint8(scope), valid(key), value); result.IsErr() {
		return errors.New(result.Err())
	}
	return nil
}

func (backend) StateRemove(scope toolgate.Scope, key string) {
	toolgate_plugin_state.Remove(uint8(scope), valid(key))
}

func (backend) StateAdd(scope toolgate.Scope, key string, delta float64) (float64, error) {
	result := toolgate_plugin_state.Add(uint8(scope), valid(key), delta)
	if result.IsErr() {
		return 0, errors.New(result.Err())
	}
	return result.Ok(), nil
}

func (backend) ConfigGet(key string) (string, bool) {
	value := toolgate_plugin_config.Get(valid(key))
	return value.SomeOr(""), value.IsSome()
}

func (backend) ConfigAll() string        { return toolgate_plugin_config.All() }
func (backend) Position() uint32         { return toolgate_plugin_batch.Position() }
func (backend) Size() uint32             { return toolgate_plugin_batch.Size() }
func (backend) Turn() string             { return toolgate_plugin_batch.Turn() }
func (backend) Conversation() string     { return toolgate_plugin_batch.Conversation() }
func (backend) AssistantMessage() string { return toolgate_plugin_batch.AssistantMessage() }
func (backend) GrantedPaths() []string   { return grantedPaths() }

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
//go:noescape
func fdPrestatGet(fd int32, prestat *prestat) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
//go:noescape
func fdPrestatDirName(fd int32, path *byte, length uint32) uint32

type prestat struct {
	_      structs.HostLayout
	kind   uint8
	length uint32
}

// Go keeps the directories that WASI opened for it to itself.
func grantedPaths() []string {
	var paths []string
	for fd := int32(3); ; fd++ {
		var found prestat
		if fdPrestatGet(fd, &found) != 0 {
			return paths
		}
		if found.kind != 0 || found.length == 0 {
			continue
		}
		name := make([]byte, found.length)
		if fdPrestatDirName(fd, &name[0], found.length) == 0 {
			paths = append(paths, string(name))
		}
	}
}

// Fail ends a call that has no other way to fail: definitions, subscriptions. A trap carries no text; the host takes the
// message from the last log line that starts with these words.
func Fail(place string, reason any) {
	Host.Log().Error(fmt.Sprintf("panicked at %s: %v", place, reason))
	// A panic would print its own words; what lies outside of the memory only traps.
	*(*byte)(unsafe.Add(nil, 0xfffffff0)) = 0
}

// Loading turns a panic of definitions or subscriptions into a failure with its message. To be deferred.
func Loading() {
	if value := recover(); value != nil {
		Fail(panickedAt(), value)
	}
}

// panickedAt is where the panic that is being recovered was raised: the first place above the runtime's own.
func panickedAt() string {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	inside := false
	for {
		frame, more := frames.Next()
		if own := strings.HasPrefix(frame.Function, "runtime."); own {
			inside = true
		} else if inside {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more {
			return "unknown place"
		}
	}
}

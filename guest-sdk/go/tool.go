package toolgate

import (
	"encoding/json"
	"fmt"
)

// Tool is a tool whose arguments are read into an Args. Args is usually a struct, whose tags give the JSON Schema of the
// parameters (see [SchemaOf]).
type Tool[Args any] struct {
	// [A-Za-z0-9_-]{1,64}, unique in the plugin.
	Name string
	// A short name for people.
	Label string
	// For the model: what the tool does, when to use it, what it does not do.
	Description string
	// JSON Schema 2020-12 of the arguments, in place of the one derived from Args.
	Parameters json.RawMessage
	// JSON Schema 2020-12 of the structured content, for instance from [OutputSchemaOf]; nil = not declared.
	Output json.RawMessage
	// Sequential makes a batch with a call of this tool run its calls one after another. To order calls on one resource
	// only, use Exclusive.
	ExecutionMode ExecutionMode
	// What calls share that can't run at the same time.
	Exclusive []ExclusiveKey
	// MCP's annotations, shown to clients.
	Hints Hints
	// MCP _meta, a JSON object.
	Meta json.RawMessage
	// Accepts older shapes of the arguments: takes what the model wrote and returns what goes on to validation.
	PrepareArguments func(arguments json.RawMessage) (json.RawMessage, error)
	// Runs one call. The text of an error is for the model: say what happened and what to do differently. A nil result
	// is one without content.
	Execute func(cx *Context, args Args) (*Result, error)
}

// ExecutionMode says whether a batch may run a tool beside other calls.
type ExecutionMode int

// The execution modes.
const (
	Parallel ExecutionMode = iota
	Sequential
)

// ExclusiveKey is something that a call holds while it runs. Calls holding an equal one of which one writes run one
// after another; readers overlap.
type ExclusiveKey struct {
	// RFC 6901 pointer into the arguments, for example /path. One that finds nothing is no key.
	Pointer string
	// The value is a path: resolved through the plugin's grants and compared with other plugins' calls too.
	IsPath bool
	// The call changes what the key names.
	Write bool
}

// Hints are MCP's tool annotations, shown to clients and never used for policy. nil = not given.
type Hints struct {
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
}

// Definition is what a tool says about itself. The fields are those of [Tool].
type Definition struct {
	Name              string
	Label             string
	Description       string
	Parameters        json.RawMessage
	Output            json.RawMessage
	ExecutionMode     ExecutionMode
	Exclusive         []ExclusiveKey
	PreparesArguments bool
	Hints             Hints
	Meta              json.RawMessage
}

// AnyTool is a [Tool] of whatever arguments. Implemented by hand it serves tools that are only known at run time.
type AnyTool interface {
	// What the model is told, and how calls may run. Read once at load.
	Definition() (Definition, error)
	// Called only where the definition says PreparesArguments.
	Prepare(arguments json.RawMessage) (json.RawMessage, error)
	// Runs one call, whose arguments fit the definition's parameters.
	Run(cx *Context) (*Result, error)
}

// Definition implements [AnyTool].
func (tool Tool[Args]) Definition() (Definition, error) {
	if tool.Execute == nil {
		return Definition{}, fmt.Errorf("The tool `%s` has no Execute", tool.Name)
	}
	parameters := tool.Parameters
	if parameters == nil {
		var err error
		if parameters, err = SchemaOf[Args](); err != nil {
			return Definition{}, fmt.Errorf("The arguments of the tool `%s`: %w", tool.Name, err)
		}
	}
	return Definition{
		Name:              tool.Name,
		Label:             tool.Label,
		Description:       tool.Description,
		Parameters:        parameters,
		Output:            tool.Output,
		ExecutionMode:     tool.ExecutionMode,
		Exclusive:         tool.Exclusive,
		PreparesArguments: tool.PrepareArguments != nil,
		Hints:             tool.Hints,
		Meta:              tool.Meta,
	}, nil
}

// Prepare implements [AnyTool].
func (tool Tool[Args]) Prepare(arguments json.RawMessage) (json.RawMessage, error) {
	if tool.PrepareArguments == nil {
		return arguments, nil
	}
	return tool.PrepareArguments(arguments)
}

// Run implements [AnyTool].
func (tool Tool[Args]) Run(cx *Context) (*Result, error) {
	var args Args
	if err := cx.ParseArguments(&args); err != nil {
		return nil, err
	}
	return tool.Execute(cx, args)
}

// Call is one call.
type Call struct {
	// The model's id. Not unique.
	ID string
	// The tool's name.
	Name string
	// The arguments, digits kept.
	Arguments json.RawMessage
}

// Context is one call of a tool; also everything of [Host]. It is a context.Context, to be handed on to whatever takes
// one.
type Context struct {
	*Host
	call Call
}

// NewContext makes the context of a call; components and toolgatetest do so.
func NewContext(host *Host, call Call) *Context { return &Context{host, call} }

// Call is the call itself: the model's id, the tool's name, and the arguments as JSON.
func (cx *Context) Call() Call { return cx.call }

// ParseArguments reads the arguments into what value points to. A model may write an integer as 50.0 or 1e3: where the
// value doesn't fit otherwise, whole numbers are read as integers.
func (cx *Context) ParseArguments(value any) error { return parseArguments(cx.call.Arguments, value) }

// Update sends a partial result. Returns at once unless many are pending.
func (cx *Context) Update(partial *Result) {
	if err := cx.backend.Update(partial); err != nil {
		cx.Log().Warn("An update was left out: " + err.Error())
	}
}

func parseArguments(arguments json.RawMessage, value any) error {
	err := decode(string(arguments), value)
	if err != nil && decode(writeWholeNumbersAsIntegers(string(arguments)), value) == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("Invalid arguments: %w", err)
	}
	return nil
}

package toolgate

import (
	"encoding/json"
	"time"
)

// Hook is policy or observation around everyone's tools. Of the three events it is called for those it has a function
// for.
//
// Several hooks of one plugin are asked in the order they were exported in:
//   - before: replaced arguments go on to the next hook; the first block ends it, also after an ask. The questions of
//     several hooks become one. An ask beside a replacement of another hook in the same plugin is an error, since the
//     contract can't carry both: such hooks belong into plugins of their own;
//   - after: each sees the result as the earlier ones left it;
//   - the first error ends it.
type Hook struct {
	// The tools it wants to be called for, by exact name; nil = every tool.
	Tools []string
	// After validation, before execution. An error refuses the call, and its text becomes the result.
	BeforeToolCall func(cx *BeforeContext) (Decision, error)
	// After execution, before the end event; nil changes nothing. An error replaces the whole result, unless the
	// operator configured that such a hook is skipped.
	AfterToolCall func(cx *AfterContext) (*Override, error)
	// After the end event of every call, refused ones too.
	Settled func(cx *SettledContext)
}

// Decision is what a before hook answers: [Allow], [Block], [BlockAndTerminate], [Replace] or [Ask].
type Decision struct {
	// Which of the answers it is.
	Kind DecisionKind
	// Of a block: for the model.
	Reason string
	// Of a block: a hint that the run may stop.
	Terminate bool
	// Of a replacement, written as JSON.
	Arguments any
	// Of an ask.
	Question Question
}

// DecisionKind tells the decisions apart.
type DecisionKind int

// The kinds of decisions.
const (
	DecisionAllow DecisionKind = iota
	DecisionReplace
	DecisionBlock
	DecisionAsk
)

// Question is what a person is asked.
type Question struct {
	// In a few words.
	Title string
	// What the person should know to answer.
	Text string
}

// Allow lets the call go on.
func Allow() Decision { return Decision{} }

// Block ends the call here. The reason is for the model.
func Block(reason string) Decision { return Decision{Kind: DecisionBlock, Reason: reason} }

// BlockAndTerminate ends the call here and hints that the run may stop.
func BlockAndTerminate(reason string) Decision {
	return Decision{Kind: DecisionBlock, Reason: reason, Terminate: true}
}

// Replace lets the call go on with these arguments, which are validated again.
func Replace(arguments any) Decision { return Decision{Kind: DecisionReplace, Arguments: arguments} }

// Ask asks the host's approver, after the later hooks have run: a block among them wins. No approver, a no and no answer
// decline. What was approved runs; the hook is not asked again.
func Ask(title, text string) Decision {
	return Decision{Kind: DecisionAsk, Question: Question{title, text}}
}

// Override changes a result field by field: a nil field stays. Details and Usage are replaced as a whole.
type Override struct {
	// Without a new StructuredContent this drops the old one. Empty but not nil empties the content.
	Content           []Content
	Details           any
	StructuredContent any
	Usage             any
	IsError           *bool
	Terminate         *bool
}

// CallError is why a call has an error result, for programs.
type CallError struct {
	// For example tool-failed, blocked, deadline.
	Kind string
	// prepare, execute or finalize.
	Stage string
}

// BeforeContext is what a before hook sees; also everything of [Host].
type BeforeContext struct {
	*Host
	// As the model wrote it.
	Call Call
	// Validated, and as earlier hooks left them.
	Arguments json.RawMessage
}

// AfterContext is what an after hook sees; also everything of [Host].
type AfterContext struct {
	*Host
	// As the model wrote it.
	Call Call
	// The arguments that ran.
	Arguments json.RawMessage
	// As earlier hooks left it. JSON in it is json.RawMessage. Its own IsError is what the tool said.
	Result Result
	// Whether the call counts as failed: the tool said so, it failed, or an earlier hook set it.
	IsError bool
	// Given where the host has a kind for the failure.
	Error *CallError
}

// SettledContext is what a settled hook sees; also everything of [Host].
type SettledContext struct {
	*Host
	// As the model wrote it.
	Call Call
	// The arguments that ran, or as far as preparation came.
	Arguments json.RawMessage
	// JSON in it is json.RawMessage.
	Result  Result
	IsError bool
	Error   *CallError
	// From the start event to the end event.
	Duration time.Duration
}

// ParseArguments reads the arguments into what value points to. The error names the argument that does not fit.
func (cx *BeforeContext) ParseArguments(value any) error { return parseArguments(cx.Arguments, value) }

// ParseArguments reads the arguments into what value points to. The error names the argument that does not fit.
func (cx *AfterContext) ParseArguments(value any) error { return parseArguments(cx.Arguments, value) }

// ParseArguments reads the arguments into what value points to. The error names the argument that does not fit.
func (cx *SettledContext) ParseArguments(value any) error { return parseArguments(cx.Arguments, value) }

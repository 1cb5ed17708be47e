package toolgate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Result is what a call answers; also the shape of a partial result ([Context.Update]).
//
// Details, StructuredContent and Usage take any value that can be written as JSON; nil is not given, and
// json.RawMessage("null") is JSON's null.
type Result struct {
	// For the model. May be empty.
	Content []Content
	// For programs and user interfaces; the model does not see it.
	Details any
	// The answer as data, for a tool that declares an output schema.
	StructuredContent any
	// Token or cost accounting, an object.
	Usage any
	// The call failed although it has a result to show.
	IsError bool
	// A hint that the run may stop here; it counts only where every result of the batch says true. nil = not given.
	Terminate *bool
	// Tools that become callable from the next turn on. nil = not given.
	AddedToolNames []string
}

// Text is a result of one text.
func Text(text string) *Result {
	return Blocks(TextBlock{Text: text})
}

// Textf is a result of one text, formatted as by fmt.Sprintf.
func Textf(format string, values ...any) *Result {
	return Text(fmt.Sprintf(format, values...))
}

// Blocks is a result of these blocks.
func Blocks(blocks ...Content) *Result {
	return &Result{Content: blocks}
}

// JSON is data as the answer: it becomes the structured content, and the same JSON as text for the model. The error,
// of a value that can't be written as JSON, is for the tool to return.
func JSON(value any) (*Result, error) {
	text, err := EncodeJSON(value)
	if err != nil {
		return nil, err
	}
	result := Text(text)
	result.StructuredContent = json.RawMessage(text)
	return result, nil
}

// JoinedText is the text blocks, one after another on lines of their own.
func (result *Result) JoinedText() string {
	var texts []string
	for _, block := range result.Content {
		if block, ok := block.(TextBlock); ok {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// EncodeJSON writes a value as JSON in the SDK's way: compact, and without the escapes that encoding/json adds for
// HTML. A json.Number keeps its digits.
func EncodeJSON(value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buffer.String(), "\n"), nil
}

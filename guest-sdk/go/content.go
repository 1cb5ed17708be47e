package toolgate

import "encoding/json"

// Content is one block of a result: a [TextBlock], [ImageBlock], [AudioBlock], [ResourceLink] or [EmbeddedResource].
type Content interface{ isContent() }

// Annotated is what every block may carry.
type Annotated struct {
	// MCP annotations, a JSON object; nil = not given.
	Annotations json.RawMessage
	// MCP _meta, a JSON object; nil = not given.
	Meta json.RawMessage
}

// TextBlock is text for the model.
type TextBlock struct {
	Text string
	Annotated
}

// ImageBlock is an image, for example of type image/png.
type ImageBlock struct {
	Data     []byte
	MimeType string
	Annotated
}

// AudioBlock is a sound, for example of type audio/wav.
type AudioBlock struct {
	Data     []byte
	MimeType string
	Annotated
}

// ResourceLink points to something the model or the user may read elsewhere. Empty strings and a nil size are not
// given.
type ResourceLink struct {
	URI         string
	Name        string
	Title       string
	Description string
	MimeType    string
	// In bytes.
	Size *int64
	Annotated
}

// EmbeddedResource is a resource given in place: Blob where it is not nil, else Text.
type EmbeddedResource struct {
	URI      string
	MimeType string
	Text     string
	Blob     []byte
	Annotated
}

func (TextBlock) isContent()        {}
func (ImageBlock) isContent()       {}
func (AudioBlock) isContent()       {}
func (ResourceLink) isContent()     {}
func (EmbeddedResource) isContent() {}

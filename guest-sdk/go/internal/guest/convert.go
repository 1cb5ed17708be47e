//go:build wasip1

package guest

import (
	"encoding/json"
	"fmt"
	"strings"

	toolgate "toolgate.local/sdk"
	contract "toolgate.local/sdk/internal/bindings/imports/toolgate_plugin_types"
	wit "toolgate.local/sdk/internal/bindings/wit/types"
)

// valid is the text as the contract wants it: a byte that is no UTF-8 would trap.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Valid is valid for other packages.
func Valid(text string) string { return valid(text) }

// ErrorText words an error for the model.
func ErrorText(err error) string { return valid(toolgate.ErrorText(err, grantedPaths())) }

// NonEmpty is an option that an empty text leaves out.
func NonEmpty(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(valid(text))
}

// Raw is an option that nil leaves out.
func Raw(text json.RawMessage) wit.Option[string] {
	if text == nil {
		return wit.None[string]()
	}
	return wit.Some(valid(string(text)))
}

// JSON is a value written as JSON; nil is left out.
func JSON(what string, value any) (wit.Option[string], error) {
	if value == nil {
		return wit.None[string](), nil
	}
	text, err := toolgate.EncodeJSON(value)
	if err != nil {
		return wit.None[string](), fmt.Errorf("The %s can't be written as JSON: %w", what, err)
	}
	return wit.Some(text), nil
}

// Flag is an option that nil leaves out.
func Flag(flag *bool) wit.Option[bool] {
	if flag == nil {
		return wit.None[bool]()
	}
	return wit.Some(*flag)
}

// Content is the blocks as the contract has them.
func Content(blocks []toolgate.Content) ([]contract.ContentBlock, error) {
	converted := make([]contract.ContentBlock, 0, len(blocks))
	for _, block := range blocks {
		switch block := block.(type) {
		case toolgate.TextBlock:
			converted = append(converted, contract.MakeContentBlockText(contract.Text{
				Text: valid(block.Text), Annotations: Raw(block.Annotations), Meta: Raw(block.Meta),
			}))
		case toolgate.ImageBlock:
			converted = append(converted, contract.MakeContentBlockImage(media(block.Data, block.MimeType, block.Annotated)))
		case toolgate.AudioBlock:
			converted = append(converted, contract.MakeContentBlockAudio(media(block.Data, block.MimeType, block.Annotated)))
		case toolgate.ResourceLink:
			size := wit.None[float64]()
			if block.Size != nil {
				size = wit.Some(float64(*block.Size))
			}
			converted = append(converted, contract.MakeContentBlockResourceLink(contract.ResourceLink{
				Uri: valid(block.URI), Name: valid(block.Name), Title: NonEmpty(block.Title),
				Description: NonEmpty(block.Description), MimeType: NonEmpty(block.MimeType), Size: size,
				Annotations: Raw(block.Annotations), Meta: Raw(block.Meta),
			}))
		case toolgate.EmbeddedResource:
			body := contract.MakeResourceBodyText(valid(block.Text))
			if block.Blob != nil {
				body = contract.MakeResourceBodyBlob(block.Blob)
			}
			converted = append(converted, contract.MakeContentBlockEmbeddedResource(contract.EmbeddedResource{
				Uri: valid(block.URI), MimeType: NonEmpty(block.MimeType), Body: body,
				Annotations: Raw(block.Annotations), Meta: Raw(block.Meta),
			}))
		default:
			return nil, fmt.Errorf("a content block of a result is %T; it has to be one of this SDK's, and no pointer", block)
		}
	}
	return converted, nil
}

func media(data []byte, mimeType string, annotated toolgate.Annotated) contract.Media {
	return contract.Media{
		Data: data, MimeType: valid(mimeType), Annotations: Raw(annotated.Annotations), Meta: Raw(annotated.Meta),
	}
}

// Result is a result as the contract has it.
func Result(result *toolgate.Result) (converted contract.ToolResult, err error) {
	if converted.Content, err = Content(result.Content); err != nil {
		return converted, err
	}
	if converted.Details, err = JSON("details", result.Details); err != nil {
		return converted, err
	}
	if converted.StructuredContent, err = JSON("structured content", result.StructuredContent); err != nil {
		return converted, err
	}
	if converted.Usage, err = JSON("usage", result.Usage); err != nil {
		return converted, err
	}
	converted.IsError = result.IsError
	converted.Terminate = Flag(result.Terminate)
	if result.AddedToolNames != nil {
		names := make([]string, 0, len(result.AddedToolNames))
		for _, name := range result.AddedToolNames {
			names = append(names, valid(name))
		}
		converted.AddedToolNames = wit.Some(names)
	}
	return converted, nil
}

// Call is the SDK's call.
func Call(call contract.ToolCall) toolgate.Call {
	return toolgate.Call{ID: call.Id, Name: call.Name, Arguments: json.RawMessage(call.Arguments)}
}

// FromResult is the SDK's result; JSON in it is json.RawMessage.
func FromResult(result contract.ToolResult) toolgate.Result {
	converted := toolgate.Result{
		Details: fromJSON(result.Details), StructuredContent: fromJSON(result.StructuredContent),
		Usage: fromJSON(result.Usage), IsError: result.IsError, AddedToolNames: result.AddedToolNames.SomeOr(nil),
	}
	if result.Terminate.IsSome() {
		converted.Terminate = new(result.Terminate.Some())
	}
	for _, block := range result.Content {
		converted.Content = append(converted.Content, fromContent(block))
	}
	return converted
}

// FromError is the SDK's reason of a failure.
func FromError(reason wit.Option[contract.CallError]) *toolgate.CallError {
	if reason.IsNone() {
		return nil
	}
	return &toolgate.CallError{Kind: reason.Some().Kind, Stage: reason.Some().Stage}
}

func fromContent(block contract.ContentBlock) toolgate.Content {
	switch block.Tag() {
	case contract.ContentBlock_Image:
		media := block.Image()
		return toolgate.ImageBlock{Data: media.Data, MimeType: media.MimeType, Annotated: annotated(media.Annotations, media.Meta)}
	case contract.ContentBlock_Audio:
		media := block.Audio()
		return toolgate.AudioBlock{Data: media.Data, MimeType: media.MimeType, Annotated: annotated(media.Annotations, media.Meta)}
	case contract.ContentBlock_ResourceLink:
		link := block.ResourceLink()
		converted := toolgate.ResourceLink{
			URI: link.Uri, Name: link.Name, Title: link.Title.SomeOr(""), Description: link.Description.SomeOr(""),
			MimeType: link.MimeType.SomeOr(""), Annotated: annotated(link.Annotations, link.Meta),
		}
		if link.Size.IsSome() {
			converted.Size = new(int64(link.Size.Some()))
		}
		return converted
	case contract.ContentBlock_EmbeddedResource:
		resource := block.EmbeddedResource()
		converted := toolgate.EmbeddedResource{
			URI: resource.Uri, MimeType: resource.MimeType.SomeOr(""),
			Annotated: annotated(resource.Annotations, resource.Meta),
		}
		if resource.Body.Tag() == contract.ResourceBody_Blob {
			converted.Blob = append([]byte{}, resource.Body.Blob()...)
		} else {
			converted.Text = resource.Body.Text()
		}
		return converted
	default:
		text := block.Text()
		return toolgate.TextBlock{Text: text.Text, Annotated: annotated(text.Annotations, text.Meta)}
	}
}

func annotated(annotations, meta wit.Option[string]) toolgate.Annotated {
	return toolgate.Annotated{Annotations: raw(annotations), Meta: raw(meta)}
}

func raw(text wit.Option[string]) json.RawMessage {
	if text.IsNone() {
		return nil
	}
	return json.RawMessage(text.Some())
}

// An any that holds a nil slice would not be nil.
func fromJSON(text wit.Option[string]) any {
	if text.IsNone() {
		return nil
	}
	return json.RawMessage(text.Some())
}

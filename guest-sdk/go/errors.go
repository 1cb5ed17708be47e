package toolgate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// ErrCancelled is what a tool returns that saw the cancellation and stopped. errors.Is(ErrCancelled,
// context.Canceled) holds.
var ErrCancelled error = cancelled{}

type cancelled struct{}

func (cancelled) Error() string        { return "Operation aborted" }
func (cancelled) Is(target error) bool { return target == context.Canceled }

// ErrorText words an error for the model. An error of the file system gets the granted directories added, since the
// sandbox's own error codes don't say what would have been allowed.
func ErrorText(err error, granted []string) string {
	text := err.Error()
	var path *fs.PathError
	if !errors.As(err, &path) {
		return text
	}
	outside := isOutside(err)
	if !outside && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return text
	}
	if outside {
		text = strings.Replace(text, path.Err.Error(), "the path is outside of what is granted", 1)
	}
	switch {
	case len(granted) > 0:
		return fmt.Sprintf("%s (directories granted to this plugin: %s)", text, strings.Join(granted, ", "))
	case insideSandbox:
		return text + " (no directory is granted to this plugin)"
	}
	return text
}

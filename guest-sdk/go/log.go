package toolgate

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
)

// LevelTrace is below slog's own levels: steps of interest only while looking for a fault.
const LevelTrace = slog.LevelDebug - 4

// NewLogHandler makes slog write the host's log: the message, and behind it the attributes as key=value.
func NewLogHandler(backend Backend) slog.Handler { return logHandler{backend: backend} }

type logHandler struct {
	backend Backend
	// What WithAttrs and WithGroup were given.
	attributes string
	group      string
}

// The operator's level is not known here: the host drops what it does not want.
func (handler logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (handler logHandler) Handle(_ context.Context, record slog.Record) error {
	var line strings.Builder
	line.WriteString(record.Message)
	line.WriteString(handler.attributes)
	record.Attrs(func(attribute slog.Attr) bool {
		writeAttribute(&line, handler.group, attribute)
		return true
	})
	handler.backend.WriteLog(levelOf(record.Level), line.String())
	return nil
}

func (handler logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	var written strings.Builder
	written.WriteString(handler.attributes)
	for _, attribute := range attributes {
		writeAttribute(&written, handler.group, attribute)
	}
	handler.attributes = written.String()
	return handler
}

func (handler logHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		handler.group += name + "."
	}
	return handler
}

func writeAttribute(line *strings.Builder, prefix string, attribute slog.Attr) {
	value := attribute.Value.Resolve()
	if attribute.Equal(slog.Attr{}) {
		return
	}
	if value.Kind() == slog.KindGroup {
		if attribute.Key != "" {
			prefix += attribute.Key + "."
		}
		for _, member := range value.Group() {
			writeAttribute(line, prefix, member)
		}
		return
	}
	text := value.String()
	if text == "" || strings.ContainsAny(text, " \t\r\n\"=") {
		text = strconv.Quote(text)
	}
	line.WriteString(" " + prefix + attribute.Key + "=" + text)
}

func levelOf(level slog.Level) Level {
	switch {
	case level < slog.LevelDebug:
		return Trace
	case level < slog.LevelInfo:
		return Debug
	case level < slog.LevelWarn:
		return Info
	case level < slog.LevelError:
		return Warn
	default:
		return Error
	}
}

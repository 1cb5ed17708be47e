// Package toolgate is the SDK for writing Toolgate tools and hooks in Go.
//
// A plugin is a main package, built as a WebAssembly component. A tool is a function of typed arguments and a few words
// about it:
//
//	package main
//
//	import (
//		"strconv"
//		"strings"
//
//		toolgate "toolgate.local/sdk"
//		"toolgate.local/sdk/tools"
//	)
//
//	type Args struct {
//		Text string `json:"text" description:"The text to count in."`
//	}
//
//	func words(cx *toolgate.Context, args Args) (*toolgate.Result, error) {
//		return toolgate.Text(strconv.Itoa(len(strings.Fields(args.Text)))), nil
//	}
//
//	func init() {
//		tools.Export(toolgate.Tool[Args]{
//			Name:        "words",
//			Description: "Counts the words of a text.",
//			Hints:       toolgate.Hints{ReadOnly: new(true)},
//			Execute:     words,
//		})
//	}
//
//	func main() {}
//
// A hook is a [Hook] given to the package hooks. Every call runs in a fresh instance: nothing kept in memory survives
// it; what has to is kept with [Host.State]. Natively (go test) the package toolgatetest plays the host.
package toolgate

//go:build !wasip1

package toolgate

import "errors"

const insideSandbox = false

var errNotCapable = errors.New("only in the sandbox")

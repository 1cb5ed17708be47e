package toolgate

import (
	"errors"
	"syscall"
)

const insideSandbox = true

// Of a path in no granted directory the host says ENOTCAPABLE; where there is none that it could be in, Go's own file
// system says EBADF.
func isOutside(err error) bool {
	const notCapable = syscall.Errno(76)
	return errors.Is(err, notCapable) || errors.Is(err, syscall.EBADF)
}

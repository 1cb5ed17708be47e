package toolgate

import "syscall"

const insideSandbox = true

// Of a path that lies in no granted directory.
const errNotCapable = syscall.Errno(76)

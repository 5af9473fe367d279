//go:build !linux

package child

import "os"

// Peak returns 0, unknown.
func Peak(*os.ProcessState) int64 { return 0 }

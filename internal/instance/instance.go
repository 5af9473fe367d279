package instance

import "os"

// Default returns the host name, or "weir" if the host has none.
func Default() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "weir"
	}
	return host
}

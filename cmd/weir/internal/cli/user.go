package cli

import "os/user"

// UserName returns the name of the user who runs the command, "unknown" if the system has none.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

package cli

// Must is for errors that only a mistake in this package can cause.
func Must(err error) {
	if err != nil {
		panic(err) //nolint:forbidigo // a flag that does not exist: every test of the command finds it
	}
}

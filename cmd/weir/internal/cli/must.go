package cli

// Must panics if err is not nil. It is for errors that only a bug of the command tree can cause.
func Must(err error) {
	if err != nil {
		panic(err) //nolint:forbidigo // such as a flag that does not exist; every test of the command finds it
	}
}

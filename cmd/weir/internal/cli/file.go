package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFile creates a file, or truncates it, and calls write for its content.
func WriteFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

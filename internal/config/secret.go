package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// redacted is printed in place of a secret.
const redacted = "[redacted]"

// Secret is a value that formatting, logging and encoding do not show. Only Reveal returns it.
type Secret struct{ value string }

// Reveal returns the secret in plain text.
func (s Secret) Reveal() string { return s.value }

// String returns a placeholder, "" for an empty secret.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return redacted
}

// Format writes the placeholder for every verb, so that %#v and %x do not show the secret either.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText returns the placeholder, for JSON, YAML and structured logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Credentials returns user and password. It reads password_file, if it is set, at each call, so
// that the next connection uses a rotated password.
func (s SASL) Credentials() (user, password string, err error) {
	if s.PasswordFile == "" {
		return s.User, s.Password.Reveal(), nil
	}
	raw, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return "", "", fmt.Errorf("cannot read the password (sasl.password_file): %w: check the path and its permissions", err)
	}
	password = strings.TrimRight(string(raw), "\r\n")
	if password == "" {
		return "", "", errors.New("the password file is empty (sasl.password_file): write the password to it")
	}
	return s.User, password, nil
}

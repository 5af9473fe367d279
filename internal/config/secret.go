package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// redacted stands wherever a secret would.
const redacted = "[redacted]"

// Secret is a value that no formatting, logging or encoding shows. Reveal is the only way to it.
type Secret struct{ value string }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return s.value }

// String returns a placeholder, or nothing where there is no secret.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return redacted
}

// Format writes the placeholder whatever the verb, so that %#v and %x do not show the secret either.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText writes the placeholder: it serves JSON, YAML and structured logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Credentials returns user and password, reading password_file if that is how the password comes. It reads the file at
// each call: a password that was replaced on disk is used from the next connection on.
func (s SASL) Credentials() (user, password string, err error) {
	if s.PasswordFile == "" {
		return s.User, s.Password.Reveal(), nil
	}
	raw, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return "", "", fmt.Errorf("cannot read the password (kafka.sasl.password_file): %w", err)
	}
	password = strings.TrimRight(string(raw), "\r\n")
	if password == "" {
		return "", "", errors.New("the password file is empty (kafka.sasl.password_file): write the password into it")
	}
	return s.User, password, nil
}

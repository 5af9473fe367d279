package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// RejectWriter stores rejected rows.
type RejectWriter interface {
	// WriteReject stores row, whose Err is set. The row is valid during the call only.
	WriteReject(row *Row) error
	// Name returns the name of the file with the rows, "" if no row was rejected.
	Name() string
}

// rejectLine is a line of a rejects file.
type rejectLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	// Raw is the row. RawBase64 replaces it for a row that is not UTF-8, which a JSON string cannot
	// hold.
	Raw       *string `json:"raw,omitempty"`
	RawBase64 []byte  `json:"raw_base64,omitempty"`
	// Bytes is the length of a row over Options.MaxRowBytes, whose beginning is in Raw.
	Bytes int64 `json:"bytes,omitempty"`
}

// RejectFile writes rejected rows as JSON lines {"line":N,"reason":"...","raw":"..."}. It creates
// the file for the first row. It never overwrites a file: if NAME.jsonl exists, it creates
// NAME-1.jsonl, NAME-2.jsonl and so on. Each row is one write call, so that a killed process loses
// no row.
type RejectFile struct {
	want  string
	file  *os.File
	bytes int64
}

// maxRejectsBytes bounds a rejects file, because a small compressed file can hold any number of bad
// rows.
const maxRejectsBytes = 1 << 30

// NewRejectFile returns a writer to a file with the given name, which does not exist yet: see
// RejectsName.
func NewRejectFile(name string) *RejectFile { return &RejectFile{want: name} }

// RejectsName returns the name of an input's rejects file: FILE.rejects.jsonl, or
// stdin.rejects.jsonl for "-".
func RejectsName(input string) string {
	if input == "-" {
		input = "stdin"
	}
	return input + ".rejects.jsonl"
}

// Name implements RejectWriter.
func (f *RejectFile) Name() string {
	if f.file == nil {
		return ""
	}
	return f.file.Name()
}

// WriteReject implements RejectWriter.
func (f *RejectFile) WriteReject(row *Row) error {
	line := rejectLine{Line: row.Line, Reason: row.Err.Error()}
	if utf8.Valid(row.Raw) {
		raw := string(row.Raw)
		line.Raw = &raw
	} else {
		line.RawBase64 = row.Raw
	}
	if row.Size > int64(len(row.Raw)) {
		line.Bytes = row.Size
	}
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("rejects file: %w", err)
	}
	if f.file == nil {
		if f.file, err = create(f.want); err != nil {
			return fmt.Errorf("rejects file: %w: name a file in a writable folder", err)
		}
	}
	if f.bytes += int64(len(text)) + 1; f.bytes > maxRejectsBytes {
		return fmt.Errorf("rejects file %q has %d bytes, and more are not written: check the format of the input", f.Name(), f.bytes)
	}
	if _, err := f.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("rejects file: %w", err)
	}
	return nil
}

// Close closes the file if one was created.
func (f *RejectFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// create creates a file with the given name, or with -1, -2 and so on before the extension. If the
// folder is not writable, as is usual for shared data, it creates the file in the working
// directory.
func create(name string) (*os.File, error) {
	f, err := createNumbered(name)
	if base := filepath.Base(name); err != nil && base != name && !errors.Is(err, errNoNumber) {
		if here, hereErr := createNumbered(base); hereErr == nil {
			return here, nil
		}
	}
	return f, err
}

var errNoNumber = errors.New("files of this name exist up to -9999: move them to another folder")

func createNumbered(name string) (*os.File, error) {
	const private = 0o600 // the rows may be confidential
	const extension = ".jsonl"
	stem := strings.TrimSuffix(name, extension)
	tail := strings.TrimPrefix(name, stem) // the extension, or "" if name has another one
	for n := range 10_000 {
		try := name
		if n > 0 {
			try = fmt.Sprintf("%s-%d%s", stem, n, tail)
		}
		f, err := os.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, errNoNumber
}

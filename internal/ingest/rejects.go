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

// RejectWriter keeps rejected rows.
type RejectWriter interface {
	// WriteReject keeps row, whose Err is set. The row is valid during the call only.
	WriteReject(row *Row) error
	// Name says where the rows are, "" while there are none.
	Name() string
}

// rejectLine is a line of a rejects file.
type rejectLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	// Raw is the row; RawBase64 is it where it is not UTF-8, which a JSON string cannot hold.
	Raw       *string `json:"raw,omitempty"`
	RawBase64 []byte  `json:"raw_base64,omitempty"`
	// Bytes is the length of a row that is too long, of which Raw is the beginning.
	Bytes int64 `json:"bytes,omitempty"`
}

// RejectFile writes rejected rows as JSON lines {"line":N,"reason":"...","raw":"..."}. The file is made at the first
// one and never replaces another: NAME-1, NAME-2 ... are tried then. Each row is one write, so that a kill loses none.
type RejectFile struct {
	want string
	file *os.File
}

// NewRejectFile returns a writer to a file called name, which it does not make yet: see RejectsName.
func NewRejectFile(name string) *RejectFile { return &RejectFile{want: name} }

// RejectsName is the name of the rejects file of an input: FILE.rejects.jsonl, stdin.rejects.jsonl for "-".
func RejectsName(input string) string {
	if input == "-" {
		input = "stdin"
	}
	return input + ".rejects.jsonl"
}

// Name is the file's name, "" while there is none.
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
			return fmt.Errorf("rejects file: %w: name a place that can be written", err)
		}
	}
	if _, err := f.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("rejects file: %w", err)
	}
	return nil
}

// Close closes the file, if there is one.
func (f *RejectFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// create makes a new file called name, or name-1 and so on before its extension. Where the folder cannot be written,
// which is usual for shared data, the file goes to the working directory.
func create(name string) (*os.File, error) {
	f, err := createNumbered(name)
	if base := filepath.Base(name); err != nil && base != name && !errors.Is(err, errNoNumber) {
		if here, hereErr := createNumbered(base); hereErr == nil {
			return here, nil
		}
	}
	return f, err
}

var errNoNumber = errors.New("files of this name are taken up to -9999: move them away")

func createNumbered(name string) (*os.File, error) {
	const private = 0o600 // rows may hold what their readers may see and others not
	const extension = ".jsonl"
	stem := strings.TrimSuffix(name, extension)
	tail := strings.TrimPrefix(name, stem)
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

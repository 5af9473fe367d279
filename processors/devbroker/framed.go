package devbroker

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
)

// kfake's logs of groups and producers consist of entries of
//
//	length u32, of what follows the checksum · crc32c u32 · version u16 · JSON
//
// in little endian.
const (
	frameHeader  = 10
	frameVersion = 1
)

// frames returns the JSON of all complete entries in raw, and the number of bytes that they take.
func frames(raw []byte) (docs [][]byte, valid int) {
	for valid+frameHeader <= len(raw) {
		n := int(binary.LittleEndian.Uint32(raw[valid:]))
		if n < 2 || n > len(raw)-valid-8 {
			break
		}
		body := raw[valid+8 : valid+8+n]
		if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(raw[valid+4:]) {
			break
		}
		docs = append(docs, body[2:])
		valid += 8 + n
	}
	return docs, valid
}

func frame(dst, doc []byte) []byte {
	body := append(binary.LittleEndian.AppendUint16(nil, frameVersion), doc...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(body, castagnoli()))
	return append(dst, body...)
}

func readLog(path string) ([][]byte, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	docs, _ := frames(raw)
	return docs, err
}

// cutLog truncates an incomplete last entry. kfake would append after it and, at its next start,
// read nothing that follows.
func cutLog(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, valid := frames(raw); valid < len(raw) {
		return os.Truncate(path, int64(valid))
	}
	return nil
}

func appendLog(path string, docs [][]byte) error {
	if len(docs) == 0 {
		return nil
	}
	var raw []byte
	for _, d := range docs {
		raw = frame(raw, d)
	}
	return appendFile(path, raw)
}

func appendFile(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

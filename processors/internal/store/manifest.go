package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// checkManifest verifies the checksums of Pebble's manifest, the list of its files. Pebble reads
// the manifest up to the first flipped bit as if it ended there: tables would be missing without an
// error. An entry that was being written at a power failure is not damage, because nothing
// depends on it yet.
func checkManifest(fs vfs.FS, dir string) (err error) {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || !desc.Exists {
		return err
	}
	f, err := fs.Open(desc.ManifestFilename)
	if err != nil {
		return fmt.Errorf("open the store's manifest: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read the store's manifest: %w", err)
	}
	if !validManifest(data) {
		return fmt.Errorf("%w: %s has an entry with a wrong checksum", errDamaged, path.Base(desc.ManifestFilename))
	}
	return nil
}

// A manifest consists of blocks of chunks. A chunk has a header: checksum of everything after the
// length, length, type. No chunk spans two blocks.
const (
	manifestBlock  = 32 << 10
	manifestHeader = 4 + 2 + 1
)

// validManifest reports whether every chunk has its checksum. The last one may be cut off.
func validManifest(data []byte) bool {
	for at := 0; at < len(data); {
		left := manifestBlock - at%manifestBlock
		if left < manifestHeader { // no space for another chunk
			at += left
			continue
		}
		if at+manifestHeader > len(data) {
			return true // the header is cut off
		}
		sum, n := binary.LittleEndian.Uint32(data[at:]), int(binary.LittleEndian.Uint16(data[at+4:]))
		kind, end := data[at+6], at+manifestHeader+n
		if kind < 1 || kind > 4 || end-at > left {
			return false
		}
		if end > len(data) {
			return !prefixHasChecksum(data[at+6:], sum)
		}
		if maskedCRC(crc32.Checksum(data[at+6:end], castagnoli())) != sum {
			return false
		}
		at = end
	}
	return true
}

// prefixHasChecksum reports whether some prefix of data has the checksum. Then the chunk is
// complete, and its length is wrong.
func prefixHasChecksum(data []byte, sum uint32) bool {
	c := crc32.Checksum(data[:1], castagnoli())
	for i := 1; i < len(data); i++ {
		if maskedCRC(c) == sum {
			return true
		}
		c = crc32.Update(c, castagnoli(), data[i:i+1])
	}
	return maskedCRC(c) == sum
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// maskedCRC is the masked form in which LevelDB and its descendants store a CRC.
func maskedCRC(c uint32) uint32 { return (c>>15 | c<<17) + 0xa282ead8 }

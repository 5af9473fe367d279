package devbroker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// partition is a partition directory of kfake. A segment is <base>.dat, which holds record batches
// as on the wire, and <base>.idx with 15 bytes per batch: version u8, checksum u8, leader epoch
// u32, timestamp u64, flags u8 (1: transactional and possibly open), little endian.
type partition struct {
	dir      string
	segments []int64 // base offsets, in order
}

const indexEntry = 15

// Byte positions in a record batch (big endian), and its attributes.
const (
	batchLength   = 8 // length of what follows the length field, which ends at byte 12
	batchAttrs    = 21
	batchLast     = 23 // offset delta of the last record
	batchMaxTime  = 35
	batchProducer = 43
	batchEpoch    = 51
	batchHeader   = 61

	attrTransactional = 0x10
	attrControl       = 0x20
)

func openPartition(dir string) (*partition, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := &partition{dir: dir}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".dat"); ok {
			base, err := strconv.ParseInt(name, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s has a file %s that the broker did not write", dir, f.Name())
			}
			p.segments = append(p.segments, base)
		}
	}
	slices.Sort(p.segments)
	return p, nil
}

func (p *partition) file(base int64, ext string) string {
	return filepath.Join(p.dir, strconv.FormatInt(base, 10)+ext)
}

// batches calls fn for each complete batch of a segment, in order, and returns the end of the last
// one.
func batches(raw []byte, fn func(batch []byte)) int {
	at := 0
	for at+batchHeader <= len(raw) {
		n := 12 + int(int32(binary.BigEndian.Uint32(raw[at+batchLength:])))
		if n < batchHeader || n > len(raw)-at {
			break
		}
		fn(raw[at : at+n])
		at += n
	}
	return at
}

// cutTail drops a last batch that has no index entry. Without the entry it would count as not
// transactional, so that uncommitted records could be read. Its write was never acknowledged.
func (p *partition) cutTail() error {
	if len(p.segments) == 0 {
		return nil
	}
	base := p.segments[len(p.segments)-1]
	raw, err := os.ReadFile(p.file(base, ".dat"))
	if err != nil {
		return err
	}
	indexed := 0
	if info, err := os.Stat(p.file(base, ".idx")); err == nil {
		indexed = int(info.Size() / indexEntry)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	keep, n := 0, 0
	batches(raw, func(b []byte) {
		if n < indexed {
			keep += len(b)
			n++
		}
	})
	if keep < len(raw) {
		if err := os.Truncate(p.file(base, ".dat"), int64(keep)); err != nil {
			return err
		}
	}
	if indexed > 0 {
		return os.Truncate(p.file(base, ".idx"), int64(n*indexEntry))
	}
	return nil
}

// producer is one epoch of a producer id.
type producer struct {
	id    int64
	epoch int16
}

// open returns the transactions that have records in the partition and no marker. Like kfake it
// relies on the index: compacted records belong to ended transactions, although their marker may be
// gone.
func (p *partition) open() (map[producer]bool, error) {
	open := map[producer]bool{}
	for _, base := range p.segments {
		raw, err := os.ReadFile(p.file(base, ".dat"))
		if err != nil {
			return nil, err
		}
		idx, err := os.ReadFile(p.file(base, ".idx"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		batches(raw, func(b []byte) {
			undecided := len(idx) >= indexEntry && idx[indexEntry-1]&1 != 0
			idx = idx[min(len(idx), indexEntry):]
			who := producer{int64(binary.BigEndian.Uint64(b[batchProducer:])), int16(binary.BigEndian.Uint16(b[batchEpoch:]))}
			switch attrs := binary.BigEndian.Uint16(b[batchAttrs:]); {
			case attrs&attrControl != 0:
				for o := range open {
					if o.id == who.id {
						delete(open, o)
					}
				}
			case attrs&attrTransactional != 0 && undecided:
				open[who] = true
			}
		})
	}
	return open, nil
}

// refresh appends a batch without records to a partition whose newest batch is old, or that has
// none.
func (p *partition) refresh(now time.Time) error {
	newest, found := int64(0), false
	for _, base := range p.segments {
		raw, err := os.ReadFile(p.file(base, ".dat"))
		if err != nil {
			return err
		}
		batches(raw, func(b []byte) {
			newest, found = max(newest, int64(binary.BigEndian.Uint64(b[batchMaxTime:]))), true
		})
	}
	if found && now.Sub(time.UnixMilli(newest)) < maxBatchAge {
		return nil
	}
	if !found {
		end, err := p.snapshotEnd()
		if err != nil || end == 0 {
			return err
		}
		p.segments = []int64{end - 1} // position of the last record: the end offset stays the same
	}
	return p.appendMarker(marker{pid: -1, epoch: -1, at: now})
}

// snapshotEnd returns the end offset that kfake stored when it was closed.
func (p *partition) snapshotEnd() (int64, error) {
	raw, err := os.ReadFile(filepath.Join(p.dir, "snapshot.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var s struct {
		End int64 `json:"high_watermark"`
	}
	return s.End, json.Unmarshal(raw, &s)
}

// marker is a control batch: the end of a transaction, or a batch without a transaction.
type marker struct {
	pid    int64
	epoch  int16
	commit bool
	at     time.Time
}

func (m marker) batch(first int64, leaderEpoch int32) []byte {
	key := kmsg.ControlRecordKey{Type: kmsg.ControlRecordKeyTypeAbort}
	if m.commit {
		key.Type = kmsg.ControlRecordKeyTypeCommit
	}
	end := kmsg.EndTxnMarker{}
	rec := kmsg.Record{Key: key.AppendTo(nil), Value: end.AppendTo(nil)}
	rec.Length = int32(len(rec.AppendTo(nil)) - 1) // without the length field, which takes one byte
	b := kmsg.RecordBatch{
		FirstOffset: first, PartitionLeaderEpoch: leaderEpoch, Magic: 2, Attributes: attrTransactional | attrControl,
		FirstTimestamp: m.at.UnixMilli(), MaxTimestamp: m.at.UnixMilli(),
		ProducerID: m.pid, ProducerEpoch: m.epoch, FirstSequence: -1, NumRecords: 1, Records: rec.AppendTo(nil),
	}
	raw := b.AppendTo(nil)
	b.Length = int32(len(raw) - 12)
	raw = b.AppendTo(nil)
	b.CRC = int32(crc32.Checksum(raw[batchAttrs:], castagnoli()))
	return b.AppendTo(nil)
}

// appendMarker appends m to the last segment.
func (p *partition) appendMarker(m marker) error {
	base := p.segments[len(p.segments)-1]
	raw, err := os.ReadFile(p.file(base, ".dat"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, leaderEpoch := base, int32(0)
	batches(raw, func(b []byte) {
		next = int64(binary.BigEndian.Uint64(b)) + int64(int32(binary.BigEndian.Uint32(b[batchLast:]))) + 1
		leaderEpoch = int32(binary.BigEndian.Uint32(b[12:]))
	})
	if err := appendFile(p.file(base, ".dat"), m.batch(next, leaderEpoch)); err != nil {
		return err
	}
	entry := make([]byte, indexEntry)
	entry[0] = 1
	binary.LittleEndian.PutUint32(entry[2:], uint32(leaderEpoch))
	binary.LittleEndian.PutUint64(entry[6:], uint64(m.at.UnixMilli()))
	entry[1] = byte(crc32.Checksum(entry[2:], castagnoli()))
	return appendFile(p.file(base, ".idx"), entry)
}

package ingest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirhq/weir/events/ingest"
)

// printer is a sink that prints. A real sink produces the records to Kafka.
type printer struct{ n int64 }

func (p *printer) Produce(_ context.Context, partition int32, r ingest.Record) error {
	p.n++
	fmt.Printf("partition %d, account %s, %d bytes\n", partition, r.Key, len(r.Value))
	return nil
}

func (p *printer) Flush(context.Context) error { return nil }
func (p *printer) Acked() int64                { return p.n }

// A CSV with any columns: a column map assigns them to the fields of an event.
func Example() {
	const table = "when,ad,fen,clicked\n2013-06-06 00:01:04,1458,51,1\n2013-06-06 00:01:05,1458,n/a,0\n"
	columns, err := ingest.ParseMap("time=when,campaign=ad,price=fen,click=clicked")
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := ingest.Open(context.Background(), "-", strings.NewReader(table))
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, err := ingest.NewReader(src, ingest.Options{
		Format: ingest.FormatCSV, Map: columns, Account: "acme", Currency: "CNY", TZ: "Asia/Shanghai", PriceUnit: "cpm-fen",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := ingest.Run(context.Background(), reader, ingest.Job{Sink: &printer{}, Rejects: rejectPrinter{}})
	fmt.Println(sum.Read, "rows,", sum.Produced, "events,", sum.Rejected, "rejected,", sum.Micros["CNY"], "micros", err)
	// Output:
	// partition 4, account acme, 62 bytes
	// partition 4, account acme, 59 bytes
	// line 3: bad_price: "n/a" is not a price in cpm-fen: write digits with a decimal point, of whole micros
	// 2 rows, 2 events, 1 rejected, 510 micros <nil>
}

type rejectPrinter struct{}

func (rejectPrinter) WriteReject(row *ingest.Row) error {
	fmt.Printf("line %d: %v\n", row.Line, row.Err)
	return nil
}

func (rejectPrinter) Name() string { return "" }

package spendlog_test

import (
	"errors"
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendlog"
)

// A reader passes every record of spend.by.<dc> to a Table.
func Example() {
	usd, err := events.ParseCurrency("USD")
	if err != nil {
		log.Fatal(err)
	}
	key := spendcounter.AppendKey([]byte{spendcounter.TableSpend}, []byte("acme"), []byte("spring"), 20131109, usd)
	row := func(epoch, sequence uint64, micros int64) []byte {
		value, err := proto.Marshal(&eventspb.Spend{
			Incarnation: 1, OwnerEpoch: epoch, Sequence: sequence, ByDc: []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: micros}},
		})
		if err != nil {
			log.Fatal(err)
		}
		return value
	}
	var table spendlog.Table
	for _, r := range []struct{ key, value []byte }{
		{[]byte("\x00m"), []byte("a marker")},
		{key, row(2, 20, 300)},
		{key, row(1, 30, 999)}, // written by a former owner
	} {
		changed, err := table.Apply(0, r.key, r.value)
		if errors.Is(err, spendlog.ErrNewer) {
			log.Fatal("stop, and use a newer version: ", err)
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("changed:", changed)
	}
	for r := range table.All() {
		fmt.Println(r.Account, r.Campaign, r.Day, r.Currency, r.Spend.ByDc[0].ChargedMicros)
	}
	// Output:
	// changed: false
	// changed: true
	// changed: false
	// acme spring 2013-11-09 USD 300
}

// Writer eu has closed 9 November, writer us has not, and has no lifetime row.
func ExampleMergeLifetimes() {
	usd, err := events.ParseCurrency("USD")
	if err != nil {
		log.Fatal(err)
	}
	var eu, us spendlog.Table
	for _, r := range []struct {
		table  *spendlog.Table
		day    events.Day
		micros int64
	}{
		{&eu, 0, 700}, // the lifetime row: 9 November
		{&eu, 20131110, 40},
		{&us, 20131109, 690}, // it has not read all events yet
	} {
		value, err := proto.Marshal(&eventspb.Spend{ByDc: []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: r.micros}}})
		if err != nil {
			log.Fatal(err)
		}
		key := spendcounter.AppendKey([]byte{spendcounter.TableSpend}, []byte("acme"), []byte("spring"), r.day, usd)
		if _, err := r.table.Apply(0, key, value); err != nil {
			log.Fatal(err)
		}
	}
	for key, s := range spendlog.MergeLifetimes(20131109, &eu, &us) {
		fmt.Println(key.Account, key.Campaign, key.Currency, s.ByDc[0].ChargedMicros)
	}
	// Output:
	// acme spring USD 700
}

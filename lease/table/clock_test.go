package table

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
)

// skewed is a clock with a constant difference from the real one.
type skewed time.Duration

func (s skewed) Now() time.Time { return time.Now().Add(time.Duration(s)) }

func (skewed) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A wrong clock is reported if the difference exceeds the skew and the second to which the Date
// header is rounded. A slow answer is not taken for a wrong clock.
func TestClockCheck(t *testing.T) {
	for _, c := range []struct {
		name      string
		off, slow time.Duration // of DynamoDB's clock, and of its answers
		wrong     bool
	}{
		{"right", 0, 0, false},
		{"right, and slow answers", 0, 1900 * time.Millisecond, false},
		{"a little ahead", 400 * time.Millisecond, 0, false},
		{"ahead", 2600 * time.Millisecond, 0, true},
		{"a little behind", -400 * time.Millisecond, 0, false},
		{"behind", -2600 * time.Millisecond, 0, true},
		{"far behind, and slow answers", -4000 * time.Millisecond, 1900 * time.Millisecond, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu"}, Clock: skewed(c.off)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cloud.Close() }()
			db := cloud.Region("eu").Client()
			if _, err := db.CreateTable(t.Context(), Create("leases")); err != nil {
				t.Fatal(err)
			}
			if err := cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Slow, Rate: 1, Delay: dynamotest.Span{Min: c.slow, Max: c.slow}}); err != nil {
				t.Fatal(err)
			}
			table := &Table{Name: "leases", New: func(string) *dynamodb.Client { return db }, Skew: 500 * time.Millisecond, Timeout: 5 * time.Second, Attempts: 1}
			_, err = table.Get(t.Context(), "eu", lease.RegionRow("eu"))
			if errors.Is(err, ErrClock) != c.wrong || err != nil && !errors.Is(err, ErrClock) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

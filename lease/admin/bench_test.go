package admin_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease/admin"
)

// BenchmarkStock leases from pools of different sizes, with ten thousand resources per bucket: the
// time must not depend on the size. WEIR_TEST_STOCK adds a size, such as 15500000, which needs 13
// GB.
func BenchmarkStock(b *testing.B) {
	sizes := []int{10_000}
	if !testing.Short() {
		sizes = append(sizes, 1_000_000)
	}
	if n, err := strconv.Atoi(os.Getenv("WEIR_TEST_STOCK")); err == nil {
		sizes = append(sizes, n)
	}
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := newFixture(b, dynamotest.Profile{}, "eu-west-1")
			create(b, w, admin.Pool{Client: "c", Pool: "large", Buckets: min(1000, max(1, size/10_000))})
			sum, err := w.ImportResources(b.Context(), strings.NewReader(lines(0, size)), admin.ResourceImport{Client: "c", Pool: "large", Region: "eu-west-1"})
			if err != nil || sum.Created != int64(size) {
				b.Fatalf("%+v, %v", sum, err)
			}
			a := w.agent(b, "eu-west-1")
			i := 0
			for b.Loop() {
				if i++; i == size {
					b.Fatal("no resource is left")
				}
				if _, err := a.GetLease(b.Context(), "c", "large", fmt.Sprint("k", i), time.Now().Add(time.Hour)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

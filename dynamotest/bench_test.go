package dynamotest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// BenchmarkPutItem writes one item after the other: "sdk" through the real client over a connection in memory, "handler"
// the same requests without client and connection. Run with -cpu 1 for a core's rate.
func BenchmarkPutItem(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		_, db := open(b, Config{})
		create(b, db)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			it := m{"pk": s(strconv.Itoa(i % 100_000)), "sk": s("eu-west-1"), "pool": s("p"), "since": n(strconv.Itoa(i)), "version": n(strconv.Itoa(i))}
			if _, err := db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String("leases"), Item: it}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("handler", func(b *testing.B) {
		c, db := open(b, Config{})
		create(b, db)
		h := c.regions[0].Handler()
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			v := strconv.Itoa(i)
			body := `{"TableName":"leases","Item":{"pk":{"S":"` + strconv.Itoa(i%100_000) + `"},"sk":{"S":"eu-west-1"},"pool":{"S":"p"},"since":{"N":"` + v + `"},"version":{"N":"` + v + `"}}}`
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(body)))
			r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	})
}

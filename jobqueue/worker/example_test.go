package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/weirhq/weir/jobqueue/worker"
)

// image is the payload of a job.
type image struct {
	File  string
	Width int
}

// A worker with a GPU, which runs four jobs at a time until the program is interrupted.
func Example() {
	w, err := worker.New(worker.Config{
		Servers: []string{"http://127.0.0.1:8080"}, Queue: "images", Has: []string{"gpu"}, Slots: 4,
		Run: func(ctx context.Context, j *worker.Job) ([]byte, error) {
			var i image
			if err := json.Unmarshal(j.Payload, &i); err != nil {
				return nil, worker.Final(err) // another attempt would not succeed
			}
			// The token makes the effect exactly once: the store refuses a lower or an equal one.
			return fmt.Appendf(nil, "%s.%d.png, written as %s", i.File, i.Width, j.Token()), ctx.Err()
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := w.Run(ctx); err != nil {
		log.Print(err)
	}
}

package node

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

// LogStop returns a function that logs how long a stop took which began with the end of ctx. It is
// called when everything has ended. If ctx has not ended, it logs nothing.
func LogStop(ctx context.Context, log zerolog.Logger) (ended func()) {
	began := make(chan time.Time, 1)
	forget := context.AfterFunc(ctx, func() { began <- time.Now() })
	return func() {
		if !forget() {
			log.Info().Dur("took_ms", time.Since(<-began)).Msg("process_stopped")
		}
	}
}

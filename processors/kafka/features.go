package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// apiFeatures returns the finalized features of the cluster, by name.
func apiFeatures(ctx context.Context, cl *kgo.Client) (map[string]int16, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "weir", "1"
	resp, err := req.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]int16{}
	for _, f := range resp.FinalizedFeatures {
		out[f.Name] = f.MaxVersionLevel
	}
	return out, nil
}

// TransactionVersion returns the finalized transaction.version of the brokers, or 0 if they report
// none.
func TransactionVersion(ctx context.Context, cl *kgo.Client) (int16, error) {
	v, err := apiFeatures(ctx, cl)
	if err != nil {
		return 0, fmt.Errorf("read the features of the brokers: %w", err)
	}
	return v["transaction.version"], nil
}

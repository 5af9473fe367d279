package executor

import (
	"github.com/weirhq/weir/processors/kafka"
)

func noKafka() kafka.Cluster { return kafka.Cluster{Brokers: []string{"127.0.0.1:1"}} }

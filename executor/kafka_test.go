package executor

import "github.com/weirhq/weir/processors"

func noKafka() processors.Kafka { return processors.Kafka{Brokers: []string{"127.0.0.1:1"}} }

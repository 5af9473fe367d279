package program_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/program"
)

// A main function with a setting and a flag of its own.
func ExampleConfig_Main() {
	cfg := program.Config{Topics: kafkaadmin.TopicOptions{Retention: 30 * 24 * time.Hour}}
	flag.StringVar(&cfg.Token, "token", "", "token of the API, for commands and other processes")
	cfg.Main(split(), count())
}

// Two processors in one process, until an interrupt.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := program.Run(ctx, program.Config{
		Runtime:   processors.Config{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:9092"}}, Dir: "data"},
		Topics:    kafkaadmin.TopicOptions{Partitions: 24, Retention: 30 * 24 * time.Hour},
		OpsListen: "127.0.0.1:8081",
	}, split(), count())
	if err != nil {
		fmt.Println(err)
	}
}

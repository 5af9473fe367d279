// Package program is the part of a program that the examples share: flags, topics, logging, and a
// stop that ends in good order. Copy it into a program of your own.
package program

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// Main runs processors until the process is interrupted. It exits with status 1 after an error.
func Main(list ...stream.Processor) {
	brokers := flag.String("brokers", "127.0.0.1:9092", "Kafka brokers, host:port, separated by commas")
	dir := flag.String("dir", filepath.Join("data", list[len(list)-1].App), "directory of the state; one process per directory")
	instance := flag.String("instance", "", "name of this process among those of the application (default: the host name)")
	partitions := flag.Int("partitions", 4, "partitions of topics that do not exist yet")
	listen := flag.String("listen", "127.0.0.1:0", "address of the API for weir's commands; port 0: any free port, which the log has")
	ops := flag.String("ops-listen", "127.0.0.1:0", "address of /readyz and /metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := zerolog.New(os.Stderr).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	cfg := local.ProgramConfig{Listen: *listen, OpsListen: *ops, Processors: processors.Config{
		Kafka:    kafka.Cluster{Brokers: strings.Split(*brokers, ",")},
		Dir:      *dir,
		Instance: *instance,
		Log:      &log,
	}}
	if err := run(ctx, list, int32(*partitions), cfg); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

// run creates the topics that are missing, runs the processors and serves the API over them.
func run(ctx context.Context, list []stream.Processor, partitions int32, cfg local.ProgramConfig) error {
	var topics []stream.Topic
	for _, p := range list {
		topics = append(topics, kafkaadmin.ProcessorTopics(p, partitions, 7*24*time.Hour)...)
	}
	if err := kafkaadmin.CreateMissing(ctx, cfg.Processors.Kafka, topics, kafkaadmin.Defaults{}); err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	program, err := local.NewProgram(cfg, list...)
	if err != nil {
		return err
	}
	return program.Run(ctx)
}

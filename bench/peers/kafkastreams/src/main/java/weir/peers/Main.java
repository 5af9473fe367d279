package weir.peers;

import static org.apache.kafka.streams.StoreQueryParameters.fromNameAndType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.state.QueryableStoreTypes;

/** Counts a log of weir's benchmark exactly once, and prints the speed and the totals. */
public final class Main {
    // By default Streams stays in its group on close, and a group with members cannot be deleted.
    private static final CloseOptions CLOSE =
            CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP).withTimeout(Duration.ofSeconds(60));

    private Main() {
    }

    /** Exits with 0 after one line of JSON on stdout, with 64 for invalid usage, with 1 for other errors. */
    public static void main(String[] args) {
        try {
            System.out.println(run(Options.parse(args)));
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + "\n" + Options.USAGE);
            System.exit(64);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // even if a thread of a client hangs
    }

    private static String run(Options o) throws ExecutionException, InterruptedException, IOException {
        String app = "weir.bench.streams." + System.currentTimeMillis();
        Path dir = Files.createTempDirectory("weir-bench-streams");
        LongAdder duplicates = new LongAdder();
        Properties settings = settings(o, app, dir);
        KafkaStreams streams = new KafkaStreams(SpendTopology.of(o.topic(), o.dedupe(), duplicates), settings);
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        // A shutdown hook also cleans up after an interrupted run.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> forget(streams, o, app, dir)));
        try (Admin admin = admin(o)) {
            Stopwatch watch = new Stopwatch(admin, app, o.topic());
            streams.start();
            Stopwatch.Lap lap = watch.run(o, () -> !streams.state().hasStartedOrFinishedShuttingDown());
            Totals counted = Totals.of(streams.store(fromNameAndType(SpendTopology.SPEND, QueryableStoreTypes.<byte[], byte[]>keyValueStore())));
            return json(o, watch.events(), lap, counted, duplicates.sum());
        }
    }

    /** The settings of Streams: those of the comparison, and larger fetches and batches, which make it faster. */
    private static Properties settings(Options o, String app, Path dir) {
        Properties p = new Properties();
        p.put(StreamsConfig.APPLICATION_ID_CONFIG, app);
        p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, o.brokers());
        p.put(StreamsConfig.STATE_DIR_CONFIG, dir.toString());
        p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2); // implies read_committed
        p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, o.commitMs());
        p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, o.threads());
        p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 256L << 20);
        p.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1); // as weir's benchmark has it
        p.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 10_000);
        p.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 10_000);
        p.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.FETCH_MAX_BYTES_CONFIG), 64 << 20);
        p.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG), 4 << 20);
        p.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 << 10);
        p.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4"); // as weir's changelog
        p.putAll(o.settings());
        return p;
    }

    private static Admin admin(Options o) {
        return Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, o.brokers()));
    }

    private static String json(Options o, long events, Stopwatch.Lap lap, Totals t, long duplicates) {
        return String.format(Locale.ROOT, "{\"version\":\"%s\",\"commit_ms\":%d,\"threads\":%d,\"dedupe\":%b,\"log_events\":%d,"
                + "\"timed_events\":%d,\"timed_seconds\":%.3f,\"events_per_second\":%d,"
                + "\"keys\":%d,\"micros\":%d,\"events\":%d,\"duplicates\":%d,\"digest\":\"%016x\"}",
                AppInfoParser.getVersion(), o.commitMs(), o.threads(), o.dedupe(), events,
                lap.events(), lap.seconds(), Math.round(lap.events() / lap.seconds()),
                t.keys(), t.micros(), t.events(), duplicates, t.digest());
    }

    /** Removes the state directory, the internal topics and the group. */
    private static void forget(KafkaStreams streams, Options o, String app, Path dir) {
        streams.close(CLOSE);
        try (Admin admin = admin(o); Stream<Path> files = Files.walk(dir)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
            admin.deleteTopics(admin.listTopics().names().get().stream().filter(t -> t.startsWith(app + "-")).toList()).all().get();
            if (!admin.listConsumerGroupOffsets(app).partitionsToOffsetAndMetadata().get().isEmpty()) {
                admin.deleteConsumerGroups(List.of(app)).all().get();
            }
        } catch (Exception e) {
            System.err.println("cannot clean up after application " + app + " in " + dir + ": " + e);
        }
    }
}

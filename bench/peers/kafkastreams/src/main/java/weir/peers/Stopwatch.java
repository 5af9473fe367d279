package weir.peers;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Measures a group from outside with the committed offsets on the broker. */
final class Stopwatch {
    private static final Duration STALL = Duration.ofMinutes(2);
    private static final long POLL_MS = 50;

    private final Admin admin;
    private final String group;
    private final Map<TopicPartition, Long> first;
    private final long events;

    /** Measures the log of a topic as it is now; records that are added later do not count. */
    Stopwatch(Admin admin, String group, String topic) throws ExecutionException, InterruptedException {
        this.admin = admin;
        this.group = group;
        TopicDescription d = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        List<TopicPartition> partitions = d.partitions().stream().map(p -> new TopicPartition(topic, p.partition())).toList();
        first = offsets(partitions, OffsetSpec.earliest());
        events = beyondFirst(offsets(partitions, OffsetSpec.latest()));
        if (events == 0) {
            throw new IllegalStateException("topic " + topic + " is empty: fill it with `weir bench spend`");
        }
    }

    /** Events in the log. */
    long events() {
        return events;
    }

    /** The steady part of a run: events committed in it, and how long it was. */
    record Lap(long events, double seconds) { }

    /** Waits until all events are committed. Alive reports whether the program still runs. */
    Lap run(Options o, BooleanSupplier alive) throws ExecutionException, InterruptedException {
        long done = 0, base = 0; // base: events of the warm-up, 0 until its end
        long moved = System.nanoTime(), started = moved, began = moved;
        while (done < events) {
            Thread.sleep(POLL_MS);
            if (!alive.getAsBoolean()) {
                throw new IllegalStateException("Kafka Streams stopped after " + done + " of " + events + " events: its log states why");
            }
            long committed = committed(), now = System.nanoTime();
            if (committed > done) {
                started = done == 0 ? now : started;
                moved = now;
                done = committed;
            }
            if (now - moved > STALL.toNanos()) {
                throw new IllegalStateException("no commit for " + STALL.toSeconds() + " s after " + done + " of " + events + " events");
            }
            if (base == 0 && done >= o.warmupShare() * events && now - started >= o.warmupMs() * 1_000_000) {
                base = done;
                began = now;
            }
        }
        if (base == 0 || base == done) {
            throw new IllegalStateException("the log of " + events + " events ended within the warm-up: give more events or less --warmup");
        }
        return new Lap(done - base, (moved - began) / 1e9);
    }

    private long committed() throws ExecutionException, InterruptedException {
        Map<TopicPartition, Long> next = new HashMap<>();
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((p, o) -> {
            if (o != null) { // null for a partition without a committed offset
                next.put(p, o.offset());
            }
        });
        return beyondFirst(next);
    }

    private long beyondFirst(Map<TopicPartition, Long> next) {
        return next.entrySet().stream().mapToLong(e -> e.getValue() - first.get(e.getKey())).sum();
    }

    private Map<TopicPartition, Long> offsets(List<TopicPartition> partitions, OffsetSpec at) throws ExecutionException, InterruptedException {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        admin.listOffsets(partitions.stream().collect(Collectors.toMap(p -> p, p -> at))).all().get().forEach((p, l) -> offsets.put(p, l.offset()));
        return offsets;
    }
}

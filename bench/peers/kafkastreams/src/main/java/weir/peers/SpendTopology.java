package weir.peers;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.state.Stores;

/** The program as Kafka Streams sees it: a source, a processor, and its stores with their changelogs. */
final class SpendTopology {
    static final String SPEND = "spend";
    static final String SEEN = "seen";
    /** How long an event id is remembered, at least. */
    static final Duration WINDOW = Duration.ofMinutes(10);

    private SpendTopology() {
    }

    /**
     * Counts the events of topic. The store is a plain caching one: neither timestamps nor headers, which the DSL's would
     * carry, are paid for.
     */
    static Topology of(String topic, boolean dedupe, LongAdder duplicates) {
        Topology t = new Topology();
        t.addSource(AutoOffsetReset.earliest(), "log", new ByteArrayDeserializer(), (name, value) -> new AdEvent(value), topic);
        t.addProcessor("count", () -> new SpendProcessor(dedupe, duplicates), "log");
        t.addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(SPEND), Serdes.ByteArray(), Serdes.ByteArray())
                .withCachingEnabled().withLoggingEnabled(Map.of()), "count");
        if (dedupe) {
            // Ids are all different: a cache would only hold them up.
            t.addStateStore(Stores.windowStoreBuilder(
                    Stores.persistentWindowStore(SEEN, WINDOW.multipliedBy(2), WINDOW, false),
                    Serdes.ByteArray(), Serdes.ByteArray()).withCachingDisabled().withLoggingEnabled(Map.of()), "count");
        }
        return t;
    }
}

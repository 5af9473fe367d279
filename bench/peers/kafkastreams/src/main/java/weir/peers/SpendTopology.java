package weir.peers;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.state.Stores;

/** The topology: a source, a processor, and its stores with their changelogs. */
final class SpendTopology {
    static final String SPEND = "spend";
    static final String SEEN = "seen";
    /** The shortest time for which an event id is remembered. */
    static final Duration WINDOW = Duration.ofMinutes(10);

    private SpendTopology() {
    }

    /**
     * Counts the events of topic. The store is a plain caching store, without the timestamps and headers of
     * the DSL's stores, which would cost time.
     */
    static Topology of(String topic, boolean dedupe, LongAdder duplicates) {
        Topology t = new Topology();
        t.addSource(AutoOffsetReset.earliest(), "log", new ByteArrayDeserializer(), (name, value) -> new AdEvent(value), topic);
        t.addProcessor("count", () -> new SpendProcessor(dedupe, duplicates), "log");
        t.addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(SPEND), Serdes.ByteArray(), Serdes.ByteArray())
                .withCachingEnabled().withLoggingEnabled(Map.of()), "count");
        if (dedupe) {
            // All ids differ: a cache would only delay them.
            t.addStateStore(Stores.windowStoreBuilder(
                    Stores.persistentWindowStore(SEEN, WINDOW.multipliedBy(2), WINDOW, false),
                    Serdes.ByteArray(), Serdes.ByteArray()).withCachingDisabled().withLoggingEnabled(Map.of()), "count");
        }
        return t;
    }
}

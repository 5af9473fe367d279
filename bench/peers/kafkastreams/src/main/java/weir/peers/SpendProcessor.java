package weir.peers;

import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/** Adds each event to the spend of its account, campaign and day; with dedupe, each event id once. */
final class SpendProcessor implements Processor<byte[], AdEvent, Void, Void> {
    private final boolean dedupe;
    private final LongAdder duplicates;
    private KeyValueStore<byte[], byte[]> spend;
    private WindowStore<byte[], byte[]> seen; // null without dedupe

    SpendProcessor(boolean dedupe, LongAdder duplicates) {
        this.dedupe = dedupe;
        this.duplicates = duplicates;
    }

    @Override
    public void init(ProcessorContext<Void, Void> context) {
        spend = context.getStateStore(SpendTopology.SPEND);
        seen = dedupe ? context.getStateStore(SpendTopology.SEEN) : null;
    }

    @Override
    public void process(Record<byte[], AdEvent> record) {
        AdEvent event = record.value();
        if (dedupe && again(event)) {
            duplicates.increment();
            return;
        }
        byte[] key = event.spendKey();
        spend.put(key, Spend.plus(spend.get(key), event.micros()));
    }

    /** Searches this window of ids and the one before, as weir does: an id is known for one to two windows. */
    private boolean again(AdEvent event) {
        byte[] id = event.identity();
        long window = event.ingestMs() - event.ingestMs() % SpendTopology.WINDOW.toMillis();
        if (seen.fetch(id, window) != null || seen.fetch(id, window - SpendTopology.WINDOW.toMillis()) != null) {
            return true;
        }
        seen.put(id, new byte[0], window);
        return false;
    }
}

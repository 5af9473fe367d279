package weir.peers;

import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * The result of a count, over all keys. The digest is the sum, modulo 2^64, of the mixed FNV-1a hashes
 * of each key and its value: two states with the same digest agree in every key, in any order.
 */
record Totals(long keys, long micros, long events, long digest) {

    static Totals of(ReadOnlyKeyValueStore<byte[], byte[]> store) {
        long keys = 0, micros = 0, events = 0, digest = 0;
        try (KeyValueIterator<byte[], byte[]> all = store.all()) {
            while (all.hasNext()) {
                KeyValue<byte[], byte[]> entry = all.next();
                keys++;
                micros += Spend.micros(entry.value);
                events += Spend.count(entry.value);
                digest += mix(fnv1a(fnv1a(0xcbf29ce484222325L, entry.key), entry.value));
            }
        }
        return new Totals(keys, micros, events, digest);
    }

    private static long fnv1a(long hash, byte[] bytes) {
        for (byte b : bytes) {
            hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
        }
        return hash;
    }

    /** The finalizer of MurmurHash3: without it the sum would hardly change when keys exchange values. */
    private static long mix(long h) {
        h = (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
        h = (h ^ h >>> 33) * 0xc4ceb9fe1a85ec53L;
        return h ^ h >>> 33;
    }
}

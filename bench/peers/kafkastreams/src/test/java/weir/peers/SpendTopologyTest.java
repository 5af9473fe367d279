package weir.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.Test;

class SpendTopologyTest {
    private static final long NOON = 1_767_268_800_000L; // 2026-01-01
    private static final long MINUTE = 60_000;

    @Test
    void countsByAccountCampaignAndDay() {
        assertEquals(
                Map.of("a/c/20260101", "12 micros, 2 events", "a/d/20260101", "1 micros, 1 events", "b/c/20260101", "70 micros, 1 events",
                        "a/c/20251231", "3 micros, 1 events"),
                count(false, new LongAdder(),
                        event("1", "a", "c", 5, 20260101, NOON), event("2", "a", "c", 7, 20260101, NOON), event("3", "a", "d", 1, 20260101, NOON),
                        event("4", "b", "c", 70, 0, NOON), // no budget day: the day of the event
                        event("5", "a", "c", 3, 20251231, NOON)));
    }

    @Test
    void withoutDedupeAnIdCountsTwice() {
        byte[] e = event("1", "a", "c", 5, 20260101, NOON);
        assertEquals(Map.of("a/c/20260101", "10 micros, 2 events"), count(false, new LongAdder(), e, e));
    }

    @Test
    void withDedupeAnIdOfAnAccountCountsOnceInTenMinutes() {
        LongAdder duplicates = new LongAdder();
        assertEquals(
                Map.of("a/c/20260101", "10 micros, 2 events", "b/c/20260101", "5 micros, 1 events"),
                count(true, duplicates,
                        event("1", "a", "c", 5, 20260101, NOON),
                        event("1", "a", "c", 5, 20260101, NOON + 9 * MINUTE), // the same window
                        event("1", "b", "c", 5, 20260101, NOON + 9 * MINUTE), // another account
                        event("1", "a", "c", 5, 20260101, NOON + 19 * MINUTE), // the next window
                        event("1", "a", "c", 5, 20260101, NOON + 20 * MINUTE))); // the window after that: forgotten
        assertEquals(2, duplicates.sum());
    }

    @Test
    void readsPastFieldsItDoesNotKnow() {
        ByteArrayOutputStream strange = new ByteArrayOutputStream();
        strange.writeBytes(new byte[] {(byte) 0x81, 0x01, 1, 2, 3, 4, 5, 6, 7, 8}); // field 16, fixed64
        strange.writeBytes(new byte[] {(byte) 0x8d, 0x01, 1, 2, 3, 4}); // field 17, fixed32
        strange.writeBytes(new byte[] {(byte) 0x92, 0x01, 2, 'x', 'y'}); // field 18, text
        strange.writeBytes(event("1", "a", "c", Long.MAX_VALUE, 20260101, NOON));
        AdEvent e = new AdEvent(strange.toByteArray());
        assertEquals(Long.MAX_VALUE, e.micros());
        assertEquals(NOON, e.ingestMs());
        assertEquals("a/c/20260101", name(e.spendKey()));
    }

    @Test
    void refusesWhatIsCutOff() {
        byte[] whole = event("1", "a", "c", 5, 20260101, NOON);
        for (int length : new int[] {1, 2, 4, whole.length - 1}) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(SerializationException.class, () -> new AdEvent(cut), length + " bytes");
        }
        assertThrows(SerializationException.class, () -> new AdEvent(new byte[] {0x0b}), "a group");
    }

    @Test
    void theDigestIsThatOfTheDriver() {
        // The test of package totals has the same figures.
        LongAdder none = new LongAdder();
        try (TopologyTestDriver driver = new TopologyTestDriver(SpendTopology.of("log", false, none), settings())) {
            TestInputTopic<byte[], byte[]> log = driver.createInputTopic("log", new ByteArraySerializer(), new ByteArraySerializer());
            log.pipeInput(new byte[0], event("1", "acct-000001", "camp-0000001", 5, 20260101, NOON));
            log.pipeInput(new byte[0], event("2", "acct-000001", "camp-0000001", 7, 20260101, NOON));
            log.pipeInput(new byte[0], event("3", "acct-000002", "camp-0000002", 1, 20260102, NOON));
            assertEquals(new Totals(2, 13, 3, 7864336223302784614L), Totals.of(driver.getKeyValueStore(SpendTopology.SPEND)));
        }
    }

    private static Map<String, String> count(boolean dedupe, LongAdder duplicates, byte[]... events) {
        Map<String, String> counted = new TreeMap<>();
        try (TopologyTestDriver driver = new TopologyTestDriver(SpendTopology.of("log", dedupe, duplicates), settings())) {
            TestInputTopic<byte[], byte[]> log = driver.createInputTopic("log", new ByteArraySerializer(), new ByteArraySerializer());
            for (byte[] e : events) {
                log.pipeInput(new byte[0], e);
            }
            try (KeyValueIterator<byte[], byte[]> all = driver.<byte[], byte[]>getKeyValueStore(SpendTopology.SPEND).all()) {
                all.forEachRemaining(e -> counted.put(name(e.key), Spend.micros(e.value) + " micros, " + Spend.count(e.value) + " events"));
            }
        }
        return counted;
    }

    private static Properties settings() {
        Properties p = new Properties();
        p.put("state.dir", "target/state");
        return p;
    }

    /** A spend key as account/campaign/day. */
    private static String name(byte[] key) {
        int day = ByteBuffer.wrap(key).getInt(key.length - 4);
        return new String(key, 0, key.length - 5, StandardCharsets.UTF_8).replace('\0', '/') + "/" + day;
    }

    private static byte[] event(String id, String account, String campaign, long micros, long day, long ms) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        text(out, 1, id);
        number(out, 2, 1);
        text(out, 3, account);
        text(out, 4, campaign);
        number(out, 5, micros);
        text(out, 6, "USD");
        number(out, 7, day);
        number(out, 8, ms);
        number(out, 9, ms);
        return out.toByteArray();
    }

    private static void text(ByteArrayOutputStream out, int field, String s) {
        byte[] b = s.getBytes(StandardCharsets.UTF_8);
        varint(out, field << 3 | 2);
        varint(out, b.length);
        out.writeBytes(b);
    }

    private static void number(ByteArrayOutputStream out, int field, long v) {
        varint(out, field << 3);
        varint(out, v);
    }

    private static void varint(ByteArrayOutputStream out, long v) {
        for (; (v & ~0x7fL) != 0; v >>>= 7) {
            out.write((int) (v & 0x7f | 0x80));
        }
        out.write((int) v);
    }
}

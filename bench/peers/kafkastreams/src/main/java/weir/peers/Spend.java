package weir.peers;

import java.nio.ByteBuffer;

/** The value of a spend key, as the store holds it: micros and count, eight bytes each. */
final class Spend {
    private Spend() {
    }

    /** Returns the value with one more event. The array is new, because the store's cache keeps the old one. */
    static byte[] plus(byte[] had, long micros) {
        ByteBuffer sum = ByteBuffer.allocate(2 * Long.BYTES);
        return sum.putLong(micros(had) + micros).putLong(count(had) + 1).array();
    }

    static long micros(byte[] spend) {
        return spend == null ? 0 : ByteBuffer.wrap(spend).getLong(0);
    }

    static long count(byte[] spend) {
        return spend == null ? 0 : ByteBuffer.wrap(spend).getLong(Long.BYTES);
    }
}

package weir.peers;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The fields of an ad event (events/eventspb/ads.proto) that the count needs. The decoder is written by
 * hand and makes no message object per event: strings stay in the record until they become a key.
 */
final class AdEvent {
    private static final int ID = 1, ACCOUNT = 3, CAMPAIGN = 4, PRICE_MICROS = 5, BUDGET_DAY = 7, EVENT_MS = 8, INGEST_MS = 9;
    private static final int VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5;

    private final byte[] bytes;
    private int at;
    private int idFrom, idTo, accountFrom, accountTo, campaignFrom, campaignTo;
    private int budgetDay;
    private long micros, eventMs, ingestMs;

    /** Decodes a record's value; the event keeps it. */
    AdEvent(byte[] value) {
        bytes = value;
        while (at < bytes.length) {
            field((int) varint());
        }
    }

    /** The price of the event, in micros of its currency. */
    long micros() {
        return micros;
    }

    /** The time at which the event was accepted, Unix milliseconds. */
    long ingestMs() {
        return ingestMs;
    }

    /** The key of the sums: account, zero, campaign, zero, and the budget day as four bytes. */
    byte[] spendKey() {
        return key(campaignFrom, campaignTo, 5).put((byte) 0).putInt(day()).array();
    }

    /** The key of deduplication: account, zero, event id. */
    byte[] identity() {
        return key(idFrom, idTo, 0).array();
    }

    private ByteBuffer key(int from, int to, int more) {
        int account = accountTo - accountFrom;
        return ByteBuffer.allocate(account + 1 + (to - from) + more)
                .put(bytes, accountFrom, account).put((byte) 0).put(bytes, from, to - from);
    }

    private int day() {
        if (budgetDay != 0) {
            return budgetDay;
        }
        LocalDate d = LocalDate.ofInstant(Instant.ofEpochMilli(eventMs), ZoneOffset.UTC);
        return d.getYear() * 10_000 + d.getMonthValue() * 100 + d.getDayOfMonth();
    }

    private void field(int tag) {
        int number = tag >>> 3;
        switch (tag & 7) {
            case VARINT -> number(number, varint());
            case LENGTH -> {
                long length = varint();
                int from = at;
                skip(length);
                text(number, from, at);
            }
            case FIXED64 -> skip(8);
            case FIXED32 -> skip(4);
            default -> throw new SerializationException("wire type " + (tag & 7) + " before byte " + at + " of an ad event");
        }
    }

    private void text(int number, int from, int to) {
        switch (number) {
            case ID -> {
                idFrom = from;
                idTo = to;
            }
            case ACCOUNT -> {
                accountFrom = from;
                accountTo = to;
            }
            case CAMPAIGN -> {
                campaignFrom = from;
                campaignTo = to;
            }
            default -> { }
        }
    }

    private void number(int number, long value) {
        switch (number) {
            case PRICE_MICROS -> micros = value;
            case BUDGET_DAY -> budgetDay = (int) value;
            case EVENT_MS -> eventMs = value;
            case INGEST_MS -> ingestMs = value;
            default -> { }
        }
    }

    private long varint() {
        long value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at == bytes.length) {
                throw cutOff();
            }
            byte b = bytes[at++];
            value |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return value;
            }
        }
        throw new SerializationException("a number of more than ten bytes ends at byte " + at + " of an ad event");
    }

    private void skip(long length) {
        if (length < 0 || length > bytes.length - at) {
            throw cutOff();
        }
        at += (int) length;
    }

    private SerializationException cutOff() {
        return new SerializationException("an ad event of " + bytes.length + " bytes is cut off at byte " + at);
    }
}

/**
 * The work of weir's spend counter as a Kafka Streams program, for a comparison on the same log and the same broker.
 *
 * <pre>
 *   log ──▶ AdEvent (decode) ──▶ SpendProcessor ──▶ caching RocksDB store ──▶ changelog
 *                                    │                        │
 *                           (with --dedupe: a window          └──▶ Totals: what was counted, key by key
 *                            store of event ids)
 * </pre>
 *
 * <p>Stopwatch times it by what the broker holds as committed, Main puts it together and prints one line of JSON. It
 * judges nothing: the program that starts it compares the totals with what the log holds.
 */
package weir.peers;

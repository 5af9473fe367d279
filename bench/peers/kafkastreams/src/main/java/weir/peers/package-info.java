/**
 * The work of weir's spend counter as a Kafka Streams program, for a comparison on the same log and
 * the same broker.
 *
 * <pre>
 *   log ──▶ AdEvent (decode) ──▶ SpendProcessor ──▶ caching RocksDB store ──▶ changelog
 *                                    │                        │
 *                           (with --dedupe: a window          └──▶ Totals: what was counted, key by key
 *                            store of event ids)
 * </pre>
 *
 * <p>Stopwatch measures with the committed offsets on the broker. Main runs the program and prints one
 * line of JSON. The calling program compares the totals with the log.
 */
package weir.peers;

package weir.peers;

import java.util.HashMap;
import java.util.Map;

/**
 * The options of the command line.
 *
 * @param brokers bootstrap brokers
 * @param topic topic of the log; every record is counted
 * @param commitMs time between commits, milliseconds
 * @param threads stream threads
 * @param warmupShare share of the events that is not timed
 * @param warmupMs untimed milliseconds after the first commit; the later of the two ends the warm-up
 * @param dedupe whether no event id counts twice
 * @param settings settings of Kafka Streams that override ours
 */
record Options(String brokers, String topic, long commitMs, int threads, double warmupShare, long warmupMs, boolean dedupe,
        Map<String, String> settings) {

    static final String USAGE = """
            usage: --brokers HOST:PORT --topic LOG [--commit-ms 100] [--threads 2] [--warmup 40%|30s] [--dedupe false]
                   [--set NAME=VALUE]...   a setting of Kafka Streams, such as --set producer.linger.ms=5""";

    static Options parse(String[] args) {
        Map<String, String> given = new HashMap<>(Map.of("--commit-ms", "100", "--threads", "2", "--warmup", "40%", "--dedupe", "false"));
        Map<String, String> settings = new HashMap<>();
        for (int i = 0; i < args.length; i += 2) {
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " has no value");
            }
            switch (args[i]) {
                case "--set" -> {
                    String[] pair = args[i + 1].split("=", 2);
                    if (pair.length < 2) {
                        throw new IllegalArgumentException("--set " + args[i + 1] + " is not NAME=VALUE");
                    }
                    settings.put(pair[0], pair[1]);
                }
                case "--brokers", "--topic", "--commit-ms", "--threads", "--warmup", "--dedupe" -> given.put(args[i], args[i + 1]);
                default -> throw new IllegalArgumentException(args[i] + " is not an option");
            }
        }
        if (!given.containsKey("--brokers") || !given.containsKey("--topic")) {
            throw new IllegalArgumentException("--brokers and --topic are needed");
        }
        String warmup = given.get("--warmup");
        if (!warmup.matches("\\d{1,2}%|\\d{1,6}s")) {
            throw new IllegalArgumentException("--warmup " + warmup + " is neither a share such as 40% nor a time such as 30s");
        }
        int n = Integer.parseInt(warmup.substring(0, warmup.length() - 1));
        boolean share = warmup.endsWith("%");
        return new Options(given.get("--brokers"), given.get("--topic"), Long.parseLong(given.get("--commit-ms")),
                Integer.parseInt(given.get("--threads")), share ? n / 100.0 : 0, share ? 0 : 1000L * n,
                Boolean.parseBoolean(given.get("--dedupe")), settings);
    }
}

package millstream;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The work of Millstream's benches in libraries of the JVM.
 *
 * <p>A line "WORKLOAD WHO ITEMS SIZE" on standard input is one go. The answer is a line of two numbers: the nanoseconds
 * it took, with the start of threads and rings, and the checksum. The first go of a task comes after others that are not
 * measured, so that it runs as compiled code.
 */
public final class Peers {
    /** The work of a contestant: from a number of items, and the slots of a ring, to the checksum. */
    interface Work {
        long run(long items, int size) throws Exception;
    }

    private static final int WARM_UPS = 3;
    private static final Map<String, Work> TASKS = new HashMap<>();

    static {
        TASKS.put("hop lmax", DisruptorRing::hop);
        TASKS.put("hop lmax-batch", DisruptorRing::hopInBatches);
        TASKS.put("hop pekko-arrays", PekkoStreams::hop);
        TASKS.put("chain3 pekko-arrays", PekkoStreams::chain3InArrays);
        TASKS.put("chain3 pekko-fused", PekkoStreams::chain3Fused);
        TASKS.put("chain3 java-stream", JavaStreams::chain3);
        TASKS.put("shard2-ordered java-stream", JavaStreams::ordered);
        TASKS.put("shard2-ordered pekko-arrays", PekkoStreams::ordered);
    }

    private Peers() {}

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        Set<String> warm = new HashSet<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Work work = words.length == 4 ? TASKS.get(words[0] + " " + words[1]) : null;
            if (work == null) {
                System.err.println("millstream-jvm-peers: no rival has the task `" + line + "`");
                System.exit(2);
            }
            long items = Long.parseLong(words[2]);
            int size = Integer.parseInt(words[3]);
            if (warm.add(words[0] + " " + words[1])) {
                for (int i = 0; i < WARM_UPS; i++) {
                    work.run(items, size);
                }
            }
            long started = System.nanoTime();
            long checksum = work.run(items, size);
            System.out.println(System.nanoTime() - started + " " + Long.toUnsignedString(checksum));
        }
        PekkoStreams.end();
        System.exit(0);
    }
}

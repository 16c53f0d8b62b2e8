package millstream;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashSet;
import java.util.Set;

/**
 * The word count of Millstream's bench of clusters, on a local cluster of Flink.
 *
 * <p>A line "WORKLOAD WHO ITEMS SIZE" on standard input is one go: ITEMS is the number of lines, and SIZE the
 * milliseconds between two checkpoints, or 0 for none. The answer is a line of two numbers: the nanoseconds from the
 * first line that a task takes to the last count, so without the start of the cluster and of the job, and the checksum.
 * The first go of a task comes after others that are not measured, so that it runs as compiled code.
 */
public final class FlinkPeers {
    private static final int WARM_UPS = 4;

    private FlinkPeers() {}

    public static void main(String[] args) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        Set<String> warm = new HashSet<>();
        try (Cluster cluster = Cluster.start()) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                String[] words = line.split(" ");
                if (words.length != 4 || !words[0].equals("cluster-words") || !words[1].startsWith("flink")) {
                    throw new IllegalArgumentException("there is no task `" + line + "`");
                }
                long lines = Long.parseLong(words[2]);
                long checkpoints = Long.parseLong(words[3]);
                boolean keeps = words[1].equals("flink-files");
                if (warm.add(words[1])) {
                    for (int i = 0; i < WARM_UPS; i++) {
                        WordCount.run(cluster, lines, checkpoints, keeps ? cluster.files() : null);
                    }
                }
                WordCount.Answer answer = WordCount.run(cluster, lines, checkpoints, keeps ? cluster.files() : null);
                System.out.println(answer.nanoseconds() + " " + Long.toUnsignedString(answer.checksum()));
                System.out.flush();
            }
        }
        System.exit(0);
    }
}

package millstream;

import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint;
import org.apache.flink.runtime.taskexecutor.TaskManagerRunner;

/**
 * A standalone cluster of Flink on this machine: a job manager and two task managers with a slot each, a JVM for each of
 * the three, as Flink's own scripts start them.
 */
final class Cluster implements AutoCloseable {
    static final int WORKERS = 2;
    /** What Flink's scripts pass to a JVM from version 17 on. */
    private static final List<String> OPENS = List.of("java.util", "java.lang", "java.net", "java.io", "java.nio",
            "java.text", "java.time", "java.lang.reflect", "java.util.concurrent", "java.util.concurrent.atomic",
            "java.util.concurrent.locks", "sun.nio.ch");

    private final Path home;
    private final int rest;
    private final List<Process> processes = new ArrayList<>();

    private Cluster(Path home, int rest) {
        this.home = home;
        this.rest = rest;
    }

    static Cluster start() throws IOException, InterruptedException {
        Cluster cluster = new Cluster(Files.createTempDirectory("flink"), freePort());
        Runtime.getRuntime().addShutdownHook(new Thread(cluster::close));
        Files.createDirectory(cluster.home.resolve("checkpoints"));
        Files.writeString(cluster.home.resolve("config.yaml"), cluster.settings(freePort()));
        cluster.launch("job-manager", "-Xmx512m", StandaloneSessionClusterEntrypoint.class.getName());
        for (int worker = 0; worker < WORKERS; worker++) {
            cluster.launch("task-manager-" + worker, "-Xmx1g", TaskManagerRunner.class.getName());
        }
        cluster.awaitWorkers();
        return cluster;
    }

    int rest() {
        return rest;
    }

    String checkpoints() {
        return home.resolve("checkpoints").toUri().toString();
    }

    /** A new directory for what comes out. */
    org.apache.flink.core.fs.Path files() throws IOException {
        return new org.apache.flink.core.fs.Path(Files.createTempDirectory(home, "out").toUri());
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /** The sizes are those that the scripts compute and pass on the command line. */
    private String settings(int rpc) {
        return String.join("\n",
                "jobmanager.rpc.address: 127.0.0.1",
                "jobmanager.rpc.port: " + rpc,
                "jobmanager.bind-host: 127.0.0.1",
                "rest.address: 127.0.0.1",
                "rest.bind-address: 127.0.0.1",
                "rest.port: " + rest,
                "taskmanager.host: 127.0.0.1",
                "taskmanager.bind-host: 127.0.0.1",
                "taskmanager.numberOfTaskSlots: 1",
                "taskmanager.cpu.cores: 1",
                "taskmanager.memory.task.heap.size: 896m",
                "taskmanager.memory.task.off-heap.size: 0m",
                "taskmanager.memory.framework.heap.size: 128m",
                "taskmanager.memory.framework.off-heap.size: 128m",
                "taskmanager.memory.managed.size: 0m",
                "taskmanager.memory.network.min: 128m",
                "taskmanager.memory.network.max: 128m",
                "taskmanager.memory.jvm-metaspace.size: 256m",
                "taskmanager.memory.jvm-overhead.min: 192m",
                "taskmanager.memory.jvm-overhead.max: 192m",
                "io.tmp.dirs: " + home,
                "");
    }

    private void launch(String name, String heap, String main) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), heap, "-Xms" + heap.substring(4),
                "-XX:MaxDirectMemorySize=512m"));
        for (String opens : OPENS) {
            command.add("--add-opens=java.base/" + opens + "=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main, "--configDir", home.toString()));
        File log = home.resolve(name + ".log").toFile();
        processes.add(new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log).start());
    }

    /** Waits until each task manager has registered its slot. */
    private void awaitWorkers() throws IOException, InterruptedException {
        String wanted = "\"slots-total\":" + WORKERS;
        for (int look = 0; look < 600; look++) {
            for (Process process : processes) {
                if (!process.isAlive()) {
                    throw new IOException("a process of the cluster ended: see the logs in " + home);
                }
            }
            try {
                HttpURLConnection asked =
                        (HttpURLConnection) URI.create("http://127.0.0.1:" + rest + "/overview").toURL().openConnection();
                if (new String(asked.getInputStream().readAllBytes()).contains(wanted)) {
                    return;
                }
            } catch (IOException notYet) {
                // The job manager does not listen yet.
            }
            Thread.sleep(100);
        }
        throw new IOException("the task managers have not registered: see the logs in " + home);
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        processes.forEach(process -> process.onExit().join());
        try (Stream<Path> all = Files.walk(home)) {
            all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        } catch (IOException gone) {
            // It was removed before.
        }
    }
}

package millstream;

import com.typesafe.config.ConfigFactory;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongUnaryOperator;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;

/** Pekko Streams: one chain without a hand-over, and arrays of many items with one between the stages. */
final class PekkoStreams {
    private static ActorSystem system;

    private PekkoStreams() {}

    private static synchronized ActorSystem system() {
        if (system == null) {
            system = ActorSystem.create("peers", ConfigFactory.parseString("pekko.loglevel=WARNING").withFallback(ConfigFactory.load()));
        }
        return system;
    }

    static synchronized void end() {
        if (system != null) {
            system.terminate();
        }
    }

    static long hop(long items, int size) throws Exception {
        return got(arrays(items).async().runWith(Sink.fold(0L, Arithmetic::sum), system()));
    }

    static long chain3InArrays(long items, int size) throws Exception {
        return got(arrays(items).async()
            .map(array -> mapped(array, Arithmetic::first)).async()
            .map(array -> mapped(array, Arithmetic::second)).async()
            .runWith(Sink.fold(0L, Arithmetic::sum), system()));
    }

    static long chain3Fused(long items, int size) throws Exception {
        return got(arrays(items)
            .map(array -> mapped(array, Arithmetic::first))
            .map(array -> mapped(array, Arithmetic::second))
            .runWith(Sink.fold(0L, Arithmetic::sum), system()));
    }

    static long ordered(long items, int size) throws Exception {
        return got(arrays(items)
            .mapAsync(8, array -> CompletableFuture.supplyAsync(() -> mapped(array, Arithmetic::rounds), system().dispatcher()))
            .runWith(Sink.fold(0L, PekkoStreams::joined), system()));
    }

    private static long joined(long sum, long[] array) {
        for (long x : array) {
            sum = Arithmetic.joined(sum, x);
        }
        return sum;
    }

    private static long[] mapped(long[] array, LongUnaryOperator f) {
        for (int i = 0; i < array.length; i++) {
            array[i] = f.applyAsLong(array[i]);
        }
        return array;
    }

    private static Source<long[], NotUsed> arrays(long items) {
        return Source.fromIterator(() -> new Iterator<>() {
            private long next;

            @Override
            public boolean hasNext() {
                return next < items;
            }

            @Override
            public long[] next() {
                long[] array = new long[(int) Math.min(Arithmetic.CHUNK, items - next)];
                for (int i = 0; i < array.length; i++) {
                    array[i] = next++;
                }
                return array;
            }
        });
    }

    private static <T> T got(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get();
    }
}

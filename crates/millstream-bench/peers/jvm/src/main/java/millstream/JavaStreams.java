package millstream;

import java.util.stream.LongStream;

/** Streams of the standard library. */
final class JavaStreams {
    private JavaStreams() {}

    static long chain3(long items, int size) {
        return LongStream.range(0, items).map(Arithmetic::first).map(Arithmetic::second).sum();
    }

    /** All results in one array, in order. */
    static long ordered(long items, int size) {
        long[] all = LongStream.range(0, items).parallel().map(Arithmetic::rounds).toArray();
        long joined = 0;
        for (long x : all) {
            joined = Arithmetic.joined(joined, x);
        }
        return joined;
    }
}

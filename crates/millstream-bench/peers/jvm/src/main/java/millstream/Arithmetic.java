package millstream;

/** The work on the items, as in the file work.rs. */
final class Arithmetic {
    /** The items of one array. */
    static final int CHUNK = 1024;

    private Arithmetic() {}

    static long first(long x) {
        return x * 3 + 1;
    }

    static long second(long x) {
        return x ^ (x >>> 7);
    }

    static long rounds(long x) {
        x |= 1L << 63;
        for (int i = 0; i < 720; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    static long joined(long sum, long x) {
        return sum * 31 + x;
    }

    static long sum(long sum, long[] items) {
        for (long x : items) {
            sum += x;
        }
        return sum;
    }
}

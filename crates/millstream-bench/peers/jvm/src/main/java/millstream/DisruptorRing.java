package millstream;

import com.lmax.disruptor.BatchEventProcessor;
import com.lmax.disruptor.BatchEventProcessorBuilder;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.YieldingWaitStrategy;
import java.util.concurrent.CountDownLatch;

/** LMAX Disruptor, in the shape of its own test of one producer and one consumer. */
final class DisruptorRing {
    /** The entries of a claim. */
    private static final int BATCH = 64;

    private DisruptorRing() {}

    /** A slot. */
    static final class Slot {
        long value;
    }

    /** Adds numbers up. */
    static final class Sum implements EventHandler<Slot> {
        private final long last;
        private final CountDownLatch done = new CountDownLatch(1);
        private long sum;

        Sum(long items) {
            this.last = items - 1;
        }

        @Override
        public void onEvent(Slot slot, long sequence, boolean endOfBatch) {
            sum += slot.value;
            if (sequence == last) {
                done.countDown();
            }
        }
    }

    /** Writes the numbers below `items`. */
    interface Writer {
        void write(RingBuffer<Slot> ring, long items);
    }

    static long hop(long items, int size) throws InterruptedException {
        return run(items, size, (ring, n) -> {
            for (long x = 0; x < n; x++) {
                long sequence = ring.next();
                ring.get(sequence).value = x;
                ring.publish(sequence);
            }
        });
    }

    static long hopInBatches(long items, int size) throws InterruptedException {
        return run(items, size, (ring, n) -> {
            for (long x = 0; x < n; ) {
                int most = (int) Math.min(BATCH, n - x);
                long last = ring.next(most);
                long first = last - most + 1;
                for (long sequence = first; sequence <= last; sequence++) {
                    ring.get(sequence).value = x++;
                }
                ring.publish(first, last);
            }
        });
    }

    private static long run(long items, int size, Writer writer) throws InterruptedException {
        RingBuffer<Slot> ring = RingBuffer.createSingleProducer(Slot::new, size, new YieldingWaitStrategy());
        Sum sum = new Sum(items);
        BatchEventProcessor<Slot> processor = new BatchEventProcessorBuilder().build(ring, ring.newBarrier(), sum);
        ring.addGatingSequences(processor.getSequence());
        Thread consumer = new Thread(processor);
        consumer.start();
        writer.write(ring, items);
        sum.done.await();
        processor.halt();
        consumer.join();
        return sum.sum;
    }
}

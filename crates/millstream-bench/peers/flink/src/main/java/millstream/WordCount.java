package millstream;

import static org.apache.flink.api.common.eventtime.WatermarkStrategy.noWatermarks;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.accumulators.LongMaximum;
import org.apache.flink.api.common.accumulators.LongMinimum;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.BulkWriter;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.Collector;

/**
 * Each word with its number in the text goes by key to one of two tasks, which adds one to the word's count; number and
 * count are what comes out.
 *
 * <p>The lines are those of Millstream's bench, and each task makes its own half of them, so that no file is read. What
 * comes out is added up in the task that makes it, so that nothing is written. Objects are reused, and buffers are sent
 * when they are full.
 */
final class WordCount {
    private static final TypeInformation<Tuple2<String, Long>> WORD = Types.TUPLE(Types.STRING, Types.LONG);
    private static final TypeInformation<Tuple2<Long, Long>> COUNT = Types.TUPLE(Types.LONG, Types.LONG);
    private static final TypeInformation<Tuple2<Long, String>> LINE = Types.TUPLE(Types.LONG, Types.STRING);
    private static final int WORDS_OF_A_LINE = 10;
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    record Answer(long nanoseconds, long checksum) {}

    private WordCount() {}

    /**
     * Counts the words of so many lines, with this many milliseconds between two checkpoints, or 0 for none. With a
     * directory, what comes out is written to files in it, each of which is committed by a checkpoint.
     */
    static Answer run(Cluster cluster, long lines, long checkpoints, Path kept) throws Exception {
        Configuration settings = new Configuration();
        settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, cluster.checkpoints());
        StreamExecutionEnvironment flink =
                StreamExecutionEnvironment.createRemoteEnvironment("127.0.0.1", cluster.rest(), settings);
        flink.setParallelism(Cluster.WORKERS);
        flink.getConfig().enableObjectReuse();
        flink.setBufferTimeout(-1);
        if (checkpoints > 0) {
            flink.enableCheckpointing(checkpoints, CheckpointingMode.EXACTLY_ONCE);
        }
        DataStream<Tuple2<Long, Long>> counts = flink
                .fromSource(new DataGeneratorSource<>(new Lines(), lines, LINE), noWatermarks(), "lines")
                .flatMap(new Split()).returns(WORD)
                .keyBy(word -> word.f0, Types.STRING)
                .flatMap(new Count()).returns(COUNT)
                .map(new Sum()).returns(COUNT);
        if (kept == null) {
            counts.sinkTo(new DiscardingSink<>());
        } else {
            counts.sinkTo(FileSink.forBulkFormat(kept, Pairs::new)
                    .withRollingPolicy(OnCheckpointRollingPolicy.build())
                    .build());
        }
        JobExecutionResult result = flink.execute();
        long begun = result.getAccumulatorResult("begun");
        long ended = result.getAccumulatorResult("ended");
        long counted = result.getAccumulatorResult("counted");
        if (counted != lines * WORDS_OF_A_LINE) {
            throw new IllegalStateException(counted + " words were counted");
        }
        return new Answer(ended - begun, result.getAccumulatorResult("sum"));
    }

    /** The line of a number, with the number. */
    private static final class Lines implements GeneratorFunction<Long, Tuple2<Long, String>> {
        private transient Tuple2<Long, String> out;
        private transient StringBuilder text;

        @Override
        public void open(SourceReaderContext context) {
            out = new Tuple2<>();
            text = new StringBuilder();
        }

        @Override
        public Tuple2<Long, String> map(Long number) {
            text.setLength(0);
            for (long word = number * WORDS_OF_A_LINE; word < (number + 1) * WORDS_OF_A_LINE; word++) {
                text.append('w').append((word * GOLDEN) >>> 52).append(' ');
            }
            text.setLength(text.length() - 1);
            out.f0 = number;
            out.f1 = text.toString();
            return out;
        }
    }

    private static final class Split extends RichFlatMapFunction<Tuple2<Long, String>, Tuple2<String, Long>> {
        private transient Tuple2<String, Long> out;
        private transient LongMinimum begun;
        private transient boolean first;

        @Override
        public void open(OpenContext context) {
            out = new Tuple2<>();
            first = true;
            begun = new LongMinimum();
            getRuntimeContext().addAccumulator("begun", begun);
        }

        @Override
        public void flatMap(Tuple2<Long, String> line, Collector<Tuple2<String, Long>> collector) {
            if (first) {
                first = false;
                begun.add(System.nanoTime());
            }
            long number = line.f0 * WORDS_OF_A_LINE;
            String text = line.f1;
            for (int from = 0; from <= text.length(); number++) {
                int space = text.indexOf(' ', from);
                int to = space < 0 ? text.length() : space;
                out.f0 = text.substring(from, to);
                out.f1 = number;
                collector.collect(out);
                from = to + 1;
            }
        }
    }

    private static final class Count extends RichFlatMapFunction<Tuple2<String, Long>, Tuple2<Long, Long>> {
        private transient Tuple2<Long, Long> out;
        private transient ValueState<Long> count;

        @Override
        public void open(OpenContext context) {
            out = new Tuple2<>();
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        }

        @Override
        public void flatMap(Tuple2<String, Long> word, Collector<Tuple2<Long, Long>> collector) throws Exception {
            Long before = count.value();
            Long now = before == null ? 1 : before + 1;
            count.update(now);
            out.f0 = word.f1;
            out.f1 = now;
            collector.collect(out);
        }
    }

    /** Adds up what comes out, as Millstream's bench does, and remembers when the last came. */
    private static final class Sum extends RichMapFunction<Tuple2<Long, Long>, Tuple2<Long, Long>> {
        /** The clock is read at each of so many, so that its calls do not count. */
        private static final int EACH = 16;

        private transient long sum;
        private transient long counted;
        private transient long ended;

        @Override
        public Tuple2<Long, Long> map(Tuple2<Long, Long> count) {
            sum += (count.f0 ^ Long.rotateLeft(count.f1, 32)) * GOLDEN;
            if (counted++ % EACH == 0) {
                ended = System.nanoTime();
            }
            return count;
        }

        @Override
        public void close() {
            getRuntimeContext().addAccumulator("sum", new LongCounter(sum));
            getRuntimeContext().addAccumulator("counted", new LongCounter(counted));
            getRuntimeContext().addAccumulator("ended", new LongMaximum(ended));
        }
    }

    /** Writes number and count, eight bytes each, through a buffer: a file of Flink has none. */
    private static final class Pairs implements BulkWriter<Tuple2<Long, Long>> {
        private final FSDataOutputStream file;
        private final ByteBuffer buffer = ByteBuffer.allocate(1 << 16);

        Pairs(FSDataOutputStream file) {
            this.file = file;
        }

        @Override
        public void addElement(Tuple2<Long, Long> count) throws IOException {
            if (buffer.remaining() < 2 * Long.BYTES) {
                flush();
            }
            buffer.putLong(count.f0).putLong(count.f1);
        }

        @Override
        public void flush() throws IOException {
            file.write(buffer.array(), 0, buffer.position());
            buffer.clear();
        }

        @Override
        public void finish() throws IOException {
            flush();
        }
    }
}

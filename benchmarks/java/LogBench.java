import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hudi.common.model.DeleteRecord;
import org.apache.hudi.common.model.HoodieAvroIndexedRecord;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.table.log.HoodieLogFileReader;
import org.apache.hudi.common.table.log.HoodieLogFormat;
import org.apache.hudi.common.table.log.block.HoodieAvroDataBlock;
import org.apache.hudi.common.table.log.block.HoodieDataBlock;
import org.apache.hudi.common.table.log.block.HoodieDeleteBlock;
import org.apache.hudi.common.table.log.block.HoodieLogBlock;
import org.apache.hudi.common.table.log.block.HoodieParquetDataBlock;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.hudi.common.util.collection.Pair;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.hadoop.HoodieHadoopStorage;

/**
 * Hudi's own writer and reader of log files, timed.  A command a line on standard input, an answer a line on standard
 * output: "ok SECONDS COUNT" or "error MESSAGE".  What is in FOLDER goes first, untimed.  The argument is whether files have checksums beside them (.crc), as
 * Hadoop's local file system makes them.  Compiled by Spark's Janino, which knows no generics beyond casts.
 *
 * load FILE               keep the file's records and deletes for the commands that write
 * keep FILE               keep its Avro blocks, contents as they are, for append
 * encode LIMIT            the records and deletes of the first LIMIT blocks to block contents
 * write FOLDER            all of them to a log file, a block per append
 * append FOLDER           the kept blocks to a log file, a block per append
 * scan FILE               every block's header, contents untouched
 * decode FILE BUFFER STREAM LIMIT
 *                         every record and delete of the first LIMIT blocks; the file is opened with BUFFER bytes, and
 *                         records are streamed in pieces of STREAM bytes, or read a block at once when it is 0
 *
 * COUNT is of records and deletes, and of blocks for keep, append and scan.
 */
public class LogBench {
  private static final String KEY = HoodieRecord.RECORD_KEY_METADATA_FIELD;

  /** Local files without .crc files beside them; Hudi asks for the scheme. */
  public static class RawFiles extends RawLocalFileSystem {
    public String getScheme() {
      return "file";
    }

    /** Without fsync, which this file system does at every append, and the one with .crc files never. */
    protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission mode) throws IOException {
      return new FileOutputStream(pathToFile(path), append);
    }
  }

  private final HoodieStorage storage;
  private final List types = new ArrayList();
  private final List headers = new ArrayList();
  private final List contents = new ArrayList();
  private final List kept = new ArrayList();
  private long checked;

  private LogBench(boolean checksums) {
    Configuration configuration = new Configuration();
    if (!checksums) {
      configuration.setClassLoader(LogBench.class.getClassLoader());
      configuration.setClass("fs.file.impl", RawFiles.class, RawLocalFileSystem.class);
    }
    storage = new HoodieHadoopStorage(new StoragePath("file:///"), HadoopFSUtils.getStorageConf(configuration));
  }

  public static void main(String[] arguments) throws Exception {
    LogBench bench = new LogBench(Boolean.parseBoolean(arguments[0]));
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      try {
        String[] words = line.split("\t");
        if (words[0].equals("write") || words[0].equals("append")) {
          bench.storage.deleteDirectory(new StoragePath(words[1]));  // else the writer goes on in another version
        }
        System.gc();
        long start = System.nanoTime();
        long count = bench.run(words);
        System.out.println("ok " + (System.nanoTime() - start) / 1e9 + " " + count);
      } catch (Throwable error) {
        System.out.println("error " + String.valueOf(error).replace('\n', ' '));
      }
    }
  }

  private long run(String[] words) throws Exception {
    if (words[0].equals("load")) {
      return load(words[1]);
    }
    if (words[0].equals("keep")) {
      return keep(words[1]);
    }
    if (words[0].equals("encode")) {
      return encode(Integer.parseInt(words[1]));
    }
    if (words[0].equals("write")) {
      return write(words[1]);
    }
    if (words[0].equals("append")) {
      return append(words[1]);
    }
    if (words[0].equals("scan")) {
      return scan(words[1]);
    }
    if (words[0].equals("decode")) {
      return decode(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]), Integer.parseInt(words[4]));
    }
    throw new IllegalArgumentException(words[0]);
  }

  private HoodieLogFormat.Reader open(String path, int buffer) throws Exception {
    return new HoodieLogFileReader(storage, new HoodieLogFile(new StoragePath(path)), null, buffer);
  }

  private long load(String path) throws Exception {
    HoodieLogFormat.Reader reader = open(path, 1 << 16);
    long count = 0;
    while (reader.hasNext()) {
      HoodieLogBlock block = (HoodieLogBlock) reader.next();
      List rows = new ArrayList();
      if (block instanceof HoodieDeleteBlock) {
        DeleteRecord[] deletes = ((HoodieDeleteBlock) block).getRecordsToDelete();
        for (int i = 0; i < deletes.length; i++) {
          rows.add(Pair.of(deletes[i], Long.valueOf(-1)));
        }
      } else {
        Iterator records = ((HoodieDataBlock) block).getRecordIterator(HoodieRecord.HoodieRecordType.AVRO);
        while (records.hasNext()) {
          rows.add(new HoodieAvroIndexedRecord((IndexedRecord) ((HoodieRecord) records.next()).getData()));
        }
      }
      types.add(block.getBlockType().name());
      headers.add(block.getLogBlockHeader());
      contents.add(rows);
      count += rows.size();
    }
    reader.close();
    return count;
  }

  private long keep(String path) throws Exception {
    HoodieLogFormat.Reader reader = open(path, 1 << 16);
    RandomAccessFile file = new RandomAccessFile(path, "r");
    while (reader.hasNext()) {
      HoodieLogBlock block = (HoodieLogBlock) reader.next();
      HoodieLogBlock.HoodieLogBlockContentLocation place =
          (HoodieLogBlock.HoodieLogBlockContentLocation) block.getBlockContentLocation().get();
      byte[] content = new byte[(int) place.getBlockSize()];
      file.seek(place.getContentPositionInLogFile());
      file.readFully(content);
      kept.add(new HoodieAvroDataBlock(null, Option.of(content), false, place, Option.empty(),
          block.getLogBlockHeader(), new HashMap(), KEY));
    }
    file.close();
    reader.close();
    return kept.size();
  }

  private HoodieLogBlock block(int number) {
    String type = (String) types.get(number);
    List content = (List) contents.get(number);
    Map header = new HashMap((Map) headers.get(number));
    if (type.equals("DELETE_BLOCK")) {
      return new HoodieDeleteBlock(content, header);
    }
    if (type.equals("PARQUET_DATA_BLOCK")) {
      return new HoodieParquetDataBlock(content, header, KEY, "gzip", 0.1, true);
    }
    return new HoodieAvroDataBlock(content, header, KEY);
  }

  private long encode(int limit) throws Exception {
    long count = 0;
    for (int number = 0; number < Math.min(limit, contents.size()); number++) {
      ByteArrayOutputStream bytes = (ByteArrayOutputStream) block(number).getContentBytes(storage);
      checked += bytes.size();
      count += ((List) contents.get(number)).size();
    }
    return count;
  }

  private HoodieLogFormat.Writer writer(String folder) throws Exception {
    return new HoodieLogFormat.WriterBuilder().onParentPath(new StoragePath(folder)).withFileExtension(".log")
        .withFileId("f-0").withInstantTime("001").withLogVersion(1).withLogWriteToken("1-2-3")
        .withSizeThreshold(Long.valueOf(1L << 40)).withStorage(storage).build();
  }

  private long append(String folder) throws Exception {
    HoodieLogFormat.Writer writer = writer(folder);
    for (int number = 0; number < kept.size(); number++) {
      writer.appendBlock((HoodieLogBlock) kept.get(number));
    }
    writer.close();
    return kept.size();
  }

  private long write(String folder) throws Exception {
    HoodieLogFormat.Writer writer = writer(folder);
    long count = 0;
    for (int number = 0; number < contents.size(); number++) {
      writer.appendBlock(block(number));
      count += ((List) contents.get(number)).size();
    }
    writer.close();
    return count;
  }

  private long scan(String path) throws Exception {
    HoodieLogFormat.Reader reader = open(path, HoodieLogFileReader.DEFAULT_BUFFER_SIZE);
    long count = 0;
    while (reader.hasNext()) {
      checked += ((HoodieLogBlock) reader.next()).getLogBlockHeader().size();
      count++;
    }
    reader.close();
    return count;
  }

  private long decode(String path, int buffer, int stream, int limit) throws Exception {
    HoodieLogFormat.Reader reader = open(path, buffer);
    long count = 0;
    for (int number = 0; number < limit && reader.hasNext(); number++) {
      HoodieLogBlock block = (HoodieLogBlock) reader.next();
      if (block instanceof HoodieDeleteBlock) {
        count += ((HoodieDeleteBlock) block).getRecordsToDelete().length;
      } else {
        count += records((HoodieDataBlock) block, stream);
      }
    }
    reader.close();
    return count;
  }

  private long records(HoodieDataBlock block, int stream) {
    ClosableIterator records = block.getRecordIterator(HoodieRecord.HoodieRecordType.AVRO, stream);
    long count = 0;
    while (records.hasNext()) {
      checked += ((IndexedRecord) ((HoodieRecord) records.next()).getData()).get(0) == null ? 0 : 1;
      count++;
    }
    records.close();
    return count;
  }
}

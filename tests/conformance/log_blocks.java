import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.model.DeleteRecord;
import org.apache.hudi.common.model.HoodieKey;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.log.HoodieLogFileReader;
import org.apache.hudi.common.table.log.HoodieLogFormat;
import org.apache.hudi.common.table.log.LogReaderUtils;
import org.apache.hudi.common.table.log.block.HoodieAvroDataBlock;
import org.apache.hudi.common.table.log.block.HoodieCDCDataBlock;
import org.apache.hudi.common.table.log.block.HoodieCommandBlock;
import org.apache.hudi.common.table.log.block.HoodieDataBlock;
import org.apache.hudi.common.table.log.block.HoodieDeleteBlock;
import org.apache.hudi.common.table.log.block.HoodieHFileDataBlock;
import org.apache.hudi.common.table.log.block.HoodieLogBlock;
import org.apache.hudi.common.table.log.block.HoodieParquetDataBlock;
import org.apache.hudi.common.util.OrderingValues;
import org.apache.hudi.common.util.SerializationUtils;
import org.apache.hudi.common.util.collection.ArrayComparable;
import org.apache.hudi.common.util.collection.Pair;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.hadoop.HoodieHadoopStorage;

/**
 * Log blocks made and read by Hudi's own classes.  Compiled by Spark's own Janino, which knows no generics beyond
 * casts.  An ordering value is written as "int 7", "decimal -1.50" and the like, several as "int 7|string a".
 */
public class LogBlocks {
  private static final String KEY = "_hoodie_record_key";

  /** The content of a delete block of that version; the keys are k0, k1 and so on. */
  public static String deletes(int version, String values) throws Exception {
    String[] texts = values.split("\n");
    List records = new ArrayList();
    for (int i = 0; i < texts.length; i++) {
      records.add(Pair.of(DeleteRecord.create("k" + i, "p", value(texts[i])), Long.valueOf(-1)));
    }
    int before = HoodieLogBlock.version;
    HoodieLogBlock.version = version;
    try {
      return encoded(new HoodieDeleteBlock(records, new HashMap()).getContentBytes(null).toByteArray());
    } finally {
      HoodieLogBlock.version = before;
    }
  }

  /** What Hudi wrote into delete blocks of version 1: keys, in Kryo. */
  public static String keys(int count) throws Exception {
    HoodieKey[] keys = new HoodieKey[count];
    for (int i = 0; i < count; i++) {
      keys[i] = new HoodieKey("k" + i, "p");
    }
    return encoded(SerializationUtils.serialize(keys));
  }

  /** The header value for these positions. */
  public static String positions(String numbers) throws Exception {
    HashSet set = new HashSet();
    String[] texts = numbers.split(" ");
    for (int i = 0; i < texts.length; i++) {
      set.add(Long.valueOf(texts[i]));
    }
    return LogReaderUtils.encodePositions(set);
  }

  /** A line per record, delete, position and header entry of the file, each block behind a line with its type. */
  public static String read(String path, String schema) throws Exception {
    StringBuilder out = new StringBuilder();
    HoodieLogFormat.Reader reader = reader(path, schema);
    while (reader.hasNext()) {
      describe((HoodieLogBlock) reader.next(), out);
    }
    reader.close();
    return out.toString();
  }

  /** Read every block of the file with Hudi's classes, and write it with them into another one. */
  public static void copy(String path, String schema, String target) throws Exception {
    StoragePath folder = new StoragePath(target);
    HoodieLogFormat.Writer writer = HoodieLogFormat.newWriterBuilder().onParentPath(folder)
        .withFileExtension(".log").withFileId("f-0").withInstantTime("001").withLogVersion(1)
        .withLogWriteToken("1-2-3").withStorage(storage(target)).build();
    HoodieLogFormat.Reader reader = reader(path, schema);
    while (reader.hasNext()) {
      HoodieLogBlock block = (HoodieLogBlock) reader.next();
      HoodieLogBlock copy = again(block);
      copy.getLogBlockHeader().putAll(block.getLogBlockHeader());  // the instant of positions it takes out otherwise
      writer.appendBlock(copy);
    }
    reader.close();
    writer.close();
  }

  private static HoodieLogBlock again(HoodieLogBlock block) throws Exception {
    Map header = new HashMap(block.getLogBlockHeader());
    String type = block.getBlockType().name();
    if (type.equals("COMMAND_BLOCK")) {
      return new HoodieCommandBlock(header);
    }
    List records = new ArrayList();
    if (type.equals("DELETE_BLOCK")) {
      DeleteRecord[] deletes = ((HoodieDeleteBlock) block).getRecordsToDelete();
      for (int i = 0; i < deletes.length; i++) {
        records.add(Pair.of(deletes[i], Long.valueOf(-1)));
      }
      return new HoodieDeleteBlock(records, header);
    }
    Iterator found = ((HoodieDataBlock) block).getRecordIterator(HoodieRecord.HoodieRecordType.AVRO);
    while (found.hasNext()) {
      records.add(found.next());
    }
    if (type.equals("CDC_DATA_BLOCK")) {
      return new HoodieCDCDataBlock(records, header, KEY);
    }
    if (type.equals("HFILE_DATA_BLOCK")) {
      return new HoodieHFileDataBlock(records, header, "GZ", new StoragePath("/any"));
    }
    if (type.equals("PARQUET_DATA_BLOCK")) {
      return new HoodieParquetDataBlock(records, header, KEY, "gzip", 0.1, true);
    }
    return new HoodieAvroDataBlock(records, header, KEY);
  }

  private static void describe(HoodieLogBlock block, StringBuilder out) throws Exception {
    String type = block.getBlockType().name();
    out.append("block ").append(type).append('\n');
    Object[] entries = block.getLogBlockHeader().entrySet().toArray();
    for (int i = 0; i < entries.length; i++) {
      Map.Entry entry = (Map.Entry) entries[i];
      out.append("header ").append(entry.getKey()).append(' ').append(entry.getValue()).append('\n');
    }
    out.append("positions ").append(block.getRecordPositions()).append('\n');
    if (type.equals("DELETE_BLOCK")) {
      DeleteRecord[] deletes = ((HoodieDeleteBlock) block).getRecordsToDelete();
      for (int i = 0; i < deletes.length; i++) {
        out.append("delete ").append(deletes[i].getRecordKey()).append(' ').append(deletes[i].getPartitionPath());
        out.append(' ').append(text(deletes[i].getOrderingValue())).append('\n');
      }
    } else if (block instanceof HoodieDataBlock) {
      Iterator found = ((HoodieDataBlock) block).getRecordIterator(HoodieRecord.HoodieRecordType.AVRO);
      while (found.hasNext()) {
        out.append("record ").append(((HoodieRecord) found.next()).getData()).append('\n');
      }
    }
  }

  private static Comparable value(String text) {
    if (text.indexOf('|') >= 0) {
      String[] parts = text.split("\\|");
      Comparable[] values = new Comparable[parts.length];
      for (int i = 0; i < parts.length; i++) {
        values[i] = value(parts[i]);
      }
      return OrderingValues.create(values);
    }
    int space = text.indexOf(' ');
    String kind = space < 0 ? text : text.substring(0, space);
    String rest = text.substring(space + 1);
    if (kind.equals("null")) {
      return null;
    } else if (kind.equals("boolean")) {
      return Boolean.valueOf(rest);
    } else if (kind.equals("int")) {
      return Integer.valueOf(rest);
    } else if (kind.equals("long")) {
      return Long.valueOf(rest);
    } else if (kind.equals("float")) {
      return Float.valueOf(rest);
    } else if (kind.equals("double")) {
      return Double.valueOf(rest);
    } else if (kind.equals("string")) {
      return rest;
    } else if (kind.equals("bytes")) {
      return ByteBuffer.wrap(Base64.getDecoder().decode(rest));
    } else if (kind.equals("date")) {
      return Date.valueOf(rest);
    } else if (kind.equals("localdate")) {
      return LocalDate.parse(rest);
    } else if (kind.equals("decimal")) {
      return new BigDecimal(rest);
    } else if (kind.equals("timestamp")) {
      return Timestamp.from(Instant.parse(rest));
    }
    throw new IllegalArgumentException(text);
  }

  private static String text(Object value) {
    if (value instanceof ArrayComparable) {
      StringBuilder out = new StringBuilder();
      Object[] values = ((ArrayComparable) value).getValues().toArray();
      for (int i = 0; i < values.length; i++) {
        out.append(i == 0 ? "" : "|").append(text(values[i]));
      }
      return out.toString();
    } else if (value == null) {
      return "null";
    } else if (value instanceof Timestamp) {
      return "timestamp " + ((Timestamp) value).toInstant();
    } else if (value instanceof Integer) {
      return "int " + value;
    } else if (value instanceof ByteBuffer) {
      ByteBuffer buffer = ((ByteBuffer) value).asReadOnlyBuffer();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      return "bytes " + encoded(bytes);
    } else if (value instanceof BigDecimal) {
      return "decimal " + ((BigDecimal) value).toPlainString();
    }
    String kind = value instanceof CharSequence ? "string" : value.getClass().getSimpleName().toLowerCase();
    return kind + " " + value;
  }

  private static HoodieLogFormat.Reader reader(String path, String schema) throws Exception {
    HoodieLogFile file = new HoodieLogFile(new StoragePath(path));
    return new HoodieLogFileReader(storage(path), file, HoodieSchema.parse(schema), 65536);
  }

  private static HoodieStorage storage(String path) {
    return new HoodieHadoopStorage(new StoragePath(path), HadoopFSUtils.getStorageConf(new Configuration()));
  }

  private static String encoded(byte[] data) {
    return Base64.getEncoder().encodeToString(data);
  }
}

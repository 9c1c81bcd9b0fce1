import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hudi.common.bloom.BloomFilter;
import org.apache.hudi.common.bloom.BloomFilterFactory;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.DeleteRecord;
import org.apache.hudi.common.model.HoodieKey;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.table.log.LogReaderUtils;
import org.apache.hudi.common.table.log.block.HoodieDeleteBlock;
import org.apache.hudi.common.table.log.block.HoodieLogBlock;
import org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.OrderingValues;
import org.apache.hudi.common.util.PartitionPathEncodeUtils;
import org.apache.hudi.common.util.SerializationUtils;
import org.apache.hudi.common.util.collection.Pair;
import org.apache.hudi.index.bucket.BucketIdentifier;
import org.apache.hudi.io.util.IOUtils;
import org.apache.hudi.storage.StoragePath;

/**
 * What Hudi's own classes make of the inputs of spec/vectors.  Texts in, texts out; compiled by Spark's own Janino, which
 * knows no generics beyond casts.
 */
public class Vectors {
  /** The result of one question, or "refused" where Hudi throws.  Each of the words stands behind a unit separator. */
  public static String ask(String question, String separated) {
    String[] words = separated.isEmpty() ? new String[0] : separated.substring(1).split("\u001f", -1);
    try {
      switch (question) {
        case "write deletes": return writeDeletes(words);
        case "read deletes": return readDeletes(words[0]);
        case "log file name": return logFileName(words[0]);
        case "base file name": return baseFileName(words[0]);
        case "instant": return String.valueOf(HoodieInstantTimeGenerator.parseDateFromInstantTime(words[0]).getTime());
        case "escape": return PartitionPathEncodeUtils.escapePathName(words[0]);
        case "unescape": return PartitionPathEncodeUtils.unescapePathName(words[0]);
        case "positions": return positions(words);
        case "bloom filter": return bloomFilter(words);
        case "bucket": return String.valueOf(BucketIdentifier.getBucketId(words[0], words[1], Integer.parseInt(words[2])));
        case "vlong": return String.valueOf(IOUtils.readVarLong(bytes(words[0]), 0));
        case "varint": return hex(IOUtils.writeVarInt(Integer.parseInt(words[0])));
        default: throw new IllegalStateException(question);
      }
    } catch (IllegalStateException error) {
      throw error;
    } catch (Throwable error) {
      return "refused";
    }
  }

  /** Content version, then key, partition path, type and text of each delete. */
  private static String writeDeletes(String[] words) throws Exception {
    int version = Integer.parseInt(words[0]);
    List deletes = new ArrayList();
    List keys = new ArrayList();
    for (int i = 1; i < words.length; i += 4) {
      Comparable value = value(words[i + 2], words[i + 3]);
      deletes.add(Pair.of(DeleteRecord.create(words[i], words[i + 1], value), Long.valueOf(-1)));
      keys.add(new HoodieKey(words[i], words[i + 1]));
    }
    if (version == 1) {
      byte[] payload = SerializationUtils.serialize((HoodieKey[]) keys.toArray(new HoodieKey[0]));
      return hex(ByteBuffer.allocate(8 + payload.length).putInt(1).putInt(payload.length).put(payload).array());
    }
    int before = HoodieLogBlock.version;
    HoodieLogBlock.version = version;
    try {
      return hex(new HoodieDeleteBlock(deletes, new HashMap()).getContentBytes(null).toByteArray());
    } finally {
      HoodieLogBlock.version = before;
    }
  }

  private static String readDeletes(String content) throws Exception {
    HoodieDeleteBlock block = new HoodieDeleteBlock(
        Option.of(bytes(content)), null, false, Option.empty(), new HashMap(), new HashMap());
    StringBuilder out = new StringBuilder();
    DeleteRecord[] deletes = block.getRecordsToDelete();
    for (int i = 0; i < deletes.length; i++) {
      out.append(deletes[i].getRecordKey()).append('\t').append(deletes[i].getPartitionPath()).append('\n');
    }
    return out.toString();
  }

  private static Comparable value(String type, String text) {
    switch (type) {
      case "null": return null;
      case "boolean": return Boolean.valueOf(text);
      case "int": return Integer.valueOf(text);
      case "long": return Long.valueOf(text);
      case "float": return Float.valueOf(text);
      case "double": return Double.valueOf(text);
      case "bytes": return ByteBuffer.wrap(bytes(text));
      case "string": return text;
      case "date": return java.sql.Date.valueOf(java.time.LocalDate.ofEpochDay(Long.parseLong(text)));
      case "local-date": return java.time.LocalDate.ofEpochDay(Long.parseLong(text));
      case "decimal": return new java.math.BigDecimal(text);
      case "timestamp-micros": return timestamp(Long.parseLong(text));
      case "array": return array(text.split(" "));
      default: throw new IllegalStateException(type);
    }
  }

  private static Comparable timestamp(long micros) {
    java.sql.Timestamp result = new java.sql.Timestamp(Math.floorDiv(micros, 1000L));
    result.setNanos((int) Math.floorMod(micros, 1000000L) * 1000);
    return result;
  }

  private static Comparable array(String[] words) {
    Comparable[] values = new Comparable[words.length];
    for (int i = 0; i < words.length; i++) {
      int colon = words[i].indexOf(':');
      values[i] = value(words[i].substring(0, colon), words[i].substring(colon + 1));
    }
    return OrderingValues.create(values);
  }

  private static String logFileName(String text) {
    if (!FSUtils.isLogFile(text)) {
      return "refused";
    }
    HoodieLogFile file = new HoodieLogFile(text);
    return file.getFileId() + "\t" + file.getDeltaCommitTime() + "\t" + file.getLogVersion() + "\t"
        + file.getLogWriteToken() + "\t" + file.getSuffix() + "\t" + file.getFileExtension();
  }

  private static String baseFileName(String text) {
    if (!FSUtils.isBaseFile(new StoragePath("/t/" + text))) {
      return "refused";
    }
    return FSUtils.getFileId(text) + "\t" + FSUtils.getCommitTime(text);
  }

  private static String positions(String[] words) throws Exception {
    Set numbers = new HashSet();
    for (int i = 0; i < words.length; i++) {
      numbers.add(Long.valueOf(words[i]));
    }
    return LogReaderUtils.encodePositions((Set<Long>) numbers);
  }

  /** Number of entries, rate of false positives, then the keys. */
  private static String bloomFilter(String[] words) {
    BloomFilter filter = BloomFilterFactory.createBloomFilter(
        Integer.parseInt(words[0]), Double.parseDouble(words[1]), -1, "SIMPLE");
    for (int i = 2; i < words.length; i++) {
      filter.add(words[i]);
    }
    return filter.serializeToString();
  }

  private static byte[] bytes(String hex) {
    byte[] out = new byte[hex.length() / 2];
    for (int i = 0; i < out.length; i++) {
      out[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    }
    return out;
  }

  private static String hex(byte[] data) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < data.length; i++) {
      out.append(Character.forDigit((data[i] >> 4) & 15, 16)).append(Character.forDigit(data[i] & 15, 16));
    }
    return out.toString();
  }
}

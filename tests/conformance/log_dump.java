import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.log.HoodieLogFileReader;
import org.apache.hudi.common.table.log.HoodieLogFormat;
import org.apache.hudi.common.table.log.block.HoodieLogBlock;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.hadoop.HoodieHadoopStorage;

/**
 * What Hudi's reader makes of log files: a line per block, then how it ended.  Compiled by Spark's own Janino, which
 * knows no generics beyond casts.
 */
public class LogDump {
  /** What rows are to be brought to; CDC blocks want one, the others would take their own. */
  private static final HoodieSchema SCHEMA =
      HoodieSchema.parse("{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}");

  public static String read(String paths, int limit) throws Exception {
    StringBuilder out = new StringBuilder();
    String[] names = paths.split("\n");
    HoodieStorage storage =
        new HoodieHadoopStorage(new StoragePath(names[0]), HadoopFSUtils.getStorageConf(new Configuration()));
    for (int i = 0; i < names.length; i++) {
      try {
        dump(storage, names[i], limit, out);
      } catch (Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
          cause = cause.getCause();
        }
        String message = String.valueOf(cause.getMessage()).replace('\n', ' ').replace('\r', ' ');
        out.append("throws ").append(cause.getClass().getName()).append(": ").append(message).append('\n');
      }
    }
    return out.toString();
  }

  private static void dump(HoodieStorage storage, String name, int limit, StringBuilder out) throws Exception {
    HoodieLogFormat.Reader reader =
        new HoodieLogFileReader(storage, new HoodieLogFile(new StoragePath(name)), SCHEMA, 65536);
    RandomAccessFile file = new RandomAccessFile(name, "r");
    try {
      for (int count = 0; reader.hasNext(); count++) {
        if (count == limit) {
          out.append("loops\n");
          return;
        }
        describe((HoodieLogBlock) reader.next(), file, out);
      }
      out.append("ends\n");
    } finally {
      file.close();
      reader.close();
    }
  }

  private static void describe(HoodieLogBlock block, RandomAccessFile file, StringBuilder out) throws Exception {
    HoodieLogBlock.HoodieLogBlockContentLocation place =
        (HoodieLogBlock.HoodieLogBlockContentLocation) block.getBlockContentLocation().get();
    long position = place.getContentPositionInLogFile();
    long size = place.getBlockSize();
    out.append("block ").append(block.getBlockType().ordinal()).append(' ').append(position).append(' ').append(size);
    out.append(' ').append(place.getBlockEndPos()).append(' ');
    if (size >= 0 && position + size <= file.length()) {
      byte[] content = new byte[(int) size];
      file.seek(position);
      file.readFully(content);
      CRC32 sum = new CRC32();
      sum.update(content, 0, content.length);
      out.append(sum.getValue());
    } else {
      out.append(-1);
    }
    Object[] entries = block.getLogBlockHeader().entrySet().toArray();
    for (int i = 0; i < entries.length; i++) {
      Map.Entry entry = (Map.Entry) entries[i];
      out.append(' ').append(((Enum) entry.getKey()).ordinal()).append('=');
      byte[] value = ((String) entry.getValue()).getBytes(StandardCharsets.UTF_8);
      for (int k = 0; k < value.length; k++) {
        out.append(Character.forDigit((value[k] >> 4) & 15, 16)).append(Character.forDigit(value[k] & 15, 16));
      }
    }
    out.append('\n');
  }
}

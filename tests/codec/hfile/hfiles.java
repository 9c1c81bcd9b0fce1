import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.hudi.io.hfile.HFileReader;
import org.apache.hudi.io.hfile.HFileUtils;
import org.apache.hudi.io.hfile.HFileWriter;
import org.apache.hudi.io.hfile.KeyValue;
import org.apache.hudi.io.hfile.UTF8StringKey;

/** All entries of an HFile in one call: a line each, key and value in base 64. */
public class HFiles {
  public static void append(HFileWriter writer, String entries) throws IOException {
    for (String line : entries.split("\n")) {
      String[] parts = line.split(" ", -1);
      writer.append(text(parts[0]), Base64.getDecoder().decode(parts[1]));
    }
  }

  public static String entries(HFileReader reader) throws IOException {
    StringBuilder found = new StringBuilder();
    for (boolean more = reader.seekTo(); more; more = reader.next()) {
      KeyValue entry = (KeyValue) reader.getKeyValue().get();
      found.append(encoded(entry.getKey().getContentInString())).append(' ').append(value(entry)).append('\n');
    }
    return found.toString();
  }

  /** What seekTo says of each key, and the value where that is 0. */
  public static String seek(HFileReader reader, String keys) throws IOException {
    StringBuilder found = new StringBuilder();
    reader.seekTo();
    for (String key : keys.split("\n")) {
      int code = reader.seekTo(new UTF8StringKey(text(key)));
      found.append(code).append(' ').append(code == 0 ? value((KeyValue) reader.getKeyValue().get()) : "").append('\n');
    }
    return found.toString();
  }

  private static String value(KeyValue entry) {
    return encoded(HFileUtils.getValue(entry));
  }

  private static String encoded(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String text(String encoded) {
    return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
  }
}

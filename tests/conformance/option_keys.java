import java.lang.reflect.Field;
import org.apache.hudi.common.config.ConfigProperty;

/** The configuration keys that classes define. */
public class OptionKeys {
  /** A line per key of the classes on the lines of the argument, with its parts between characters 1. */
  public static String of(String classes) throws Exception {
    StringBuilder found = new StringBuilder();
    ClassLoader loader = ConfigProperty.class.getClassLoader();
    String[] names = classes.split("\n");
    for (int i = 0; i < names.length; i++) {
      Field[] fields;
      try {
        fields = Class.forName(names[i], false, loader).getDeclaredFields();
      } catch (Throwable e) {
        continue; // a class of a library that is not there
      }
      for (int j = 0; j < fields.length; j++) {
        if (fields[j].getType() == ConfigProperty.class) {
          Object owner = null;
          if (names[i].endsWith("$")) {
            owner = Class.forName(names[i], true, loader).getDeclaredField("MODULE$").get(null);
          }
          fields[j].setAccessible(true);
          ConfigProperty key = (ConfigProperty) fields[j].get(owner);
          if (key != null) {
            add(found, key, names[i]);
          }
        }
      }
    }
    return found.toString();
  }

  private static void add(StringBuilder found, ConfigProperty key, String owner) {
    found.append(key.key()).append('\1').append(owner).append('\1');
    found.append(key.hasDefaultValue() ? String.valueOf(key.defaultValue()) : "").append('\1');
    Object[] older = key.getAlternatives().toArray();
    for (int i = 0; i < older.length; i++) {
      found.append(older[i]).append(i + 1 < older.length ? " " : "");
    }
    found.append('\2');
  }
}

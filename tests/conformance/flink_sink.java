import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.connector.file.table.BinPacking;
import org.apache.flink.connector.file.table.FileSystemConnectorOptions;
import org.apache.flink.connector.file.table.stream.PartitionCommitTrigger;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.util.TimeUtils;

/** Flink's packing and its triggers of partition commits, by texts. */
public class FlinkSink {

  /** Of each line "target:weight,weight", the groups as the numbers of their items: "0,1 2 3,4". */
  public static String pack(String lines) {
    StringBuilder answer = new StringBuilder();
    String[] all = lines.split("\n");
    for (int i = 0; i < all.length; i++) {
      String[] parts = all[i].split(":");
      final String[] weights = parts[1].split(",");
      List items = new ArrayList();
      for (int n = 0; n < weights.length; n++) {
        items.add(Integer.valueOf(n));
      }
      Function weight = new Function() {
        public Object apply(Object item) {
          return Long.valueOf(weights[((Integer) item).intValue()]);
        }
      };
      List groups = BinPacking.pack(items, weight, Long.parseLong(parts[0]));
      for (int g = 0; g < groups.size(); g++) {
        List group = (List) groups.get(g);
        answer.append(g == 0 ? "" : " ");
        for (int n = 0; n < group.size(); n++) {
          answer.append(n == 0 ? "" : ",").append(group.get(n));
        }
      }
      answer.append("\n");
    }
    return answer.toString();
  }

  /**
   * What a trigger commits at each checkpoint, sorted, a line each.  Options are lines "key=value"; events are lines
   * "now partition", or "now ! watermark" for a checkpoint.
   */
  public static String commits(String options, String columns, String events) throws Exception {
    Configuration configuration = new Configuration();
    String[] pairs = options.split("\n");
    for (int i = 0; i < pairs.length; i++) {
      int equals = pairs[i].indexOf('=');
      configuration.setString(pairs[i].substring(0, equals), pairs[i].substring(equals + 1));
    }
    final long[] now = new long[1];
    ProcessingTimeService clock = (ProcessingTimeService) proxy(ProcessingTimeService.class, new InvocationHandler() {
      public Object invoke(Object self, Method method, Object[] arguments) {
        return Long.valueOf(now[0]);
      }
    });
    PartitionCommitTrigger trigger = PartitionCommitTrigger.create(
        false, store(), configuration, FlinkSink.class.getClassLoader(), Arrays.asList(columns.split(",")), clock);
    StringBuilder answer = new StringBuilder();
    String[] all = events.split("\n");
    for (int i = 0; i < all.length; i++) {
      String[] parts = all[i].split("\t");
      now[0] = Long.parseLong(parts[0]);
      if (!parts[1].equals("!")) {
        trigger.addPartition(parts[1]);
        continue;
      }
      trigger.snapshotState(i, Long.parseLong(parts[2]));
      List committed = new ArrayList(trigger.committablePartitions(i));
      Collections.sort(committed);
      for (int n = 0; n < committed.size(); n++) {
        answer.append(n == 0 ? "" : "\t").append(committed.get(n));
      }
      answer.append("\n");
    }
    return answer.toString();
  }

  /** The options of the sink that have a default, a line "key=value" each. */
  public static String defaults() throws Exception {
    StringBuilder answer = new StringBuilder();
    Field[] fields = FileSystemConnectorOptions.class.getFields();
    for (int i = 0; i < fields.length; i++) {
      Object option = fields[i].get(null);
      if (option instanceof ConfigOption && ((ConfigOption) option).hasDefaultValue()) {
        Object value = ((ConfigOption) option).defaultValue();
        String text = value instanceof Duration ? TimeUtils.formatWithHighestUnit((Duration) value) : value.toString();
        answer.append(((ConfigOption) option).key()).append("=").append(text).append("\n");
      }
    }
    return answer.toString();
  }

  /** The bytes, or milliseconds, that a text stands for. */
  public static String measure(String kind, String text) {
    return String.valueOf(
        kind.equals("size") ? MemorySize.parse(text).getBytes() : TimeUtils.parseDuration(text).toMillis());
  }

  /** A store of states that remembers nothing: nothing is restored here. */
  private static OperatorStateStore store() {
    final Object state = proxy(ListState.class, new InvocationHandler() {
      public Object invoke(Object self, Method method, Object[] arguments) {
        return null;
      }
    });
    return (OperatorStateStore) proxy(OperatorStateStore.class, new InvocationHandler() {
      public Object invoke(Object self, Method method, Object[] arguments) {
        return state;
      }
    });
  }

  private static Object proxy(Class kind, InvocationHandler handler) {
    return Proxy.newProxyInstance(FlinkSink.class.getClassLoader(), new Class[] {kind}, handler);
  }
}

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hudi.client.SparkRDDWriteClient;
import org.apache.hudi.client.WriteStatus;
import org.apache.hudi.client.common.HoodieSparkEngineContext;
import org.apache.hudi.common.config.HoodieMetadataConfig;
import org.apache.hudi.common.model.HoodieDeltaWriteStat;
import org.apache.hudi.common.model.HoodieTableType;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.util.ExternalFilePathUtil;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.config.HoodieArchivalConfig;
import org.apache.hudi.config.HoodieCleanConfig;
import org.apache.hudi.config.HoodieIndexConfig;
import org.apache.hudi.config.HoodieWriteConfig;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.index.HoodieIndex;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Registers files of others with a table of Hudi's, as XTable does: a replace commit names them, and nothing else. */
public class Registering {
  private static final String REPLACE = "replacecommit";

  public static String create(String path, String name, String key, String partition, String version, String type) throws Exception {
    HoodieTableMetaClient.newTableBuilder()
        .setTableType(HoodieTableType.valueOf(type))
        .setTableName(name)
        .setTableVersion(Integer.parseInt(version))
        .setPayloadClassName("org.apache.hudi.common.model.HoodieAvroPayload")
        .setRecordKeyFields(key)
        .setPartitionFields(partition)
        .setKeyGeneratorClassProp("org.apache.hudi.keygen.SimpleKeyGenerator")
        .setPopulateMetaFields(false)
        .initTable(configuration(), path);
    return path;
  }

  /** The files of "added" are "path,rows,bytes" and those of "removed" paths, both separated by semicolons. */
  public static String register(String path, String schema, String added, String removed, String version)
      throws Exception {
    HoodieWriteConfig options = options(path, schema, version);
    SparkRDDWriteClient writer = new SparkRDDWriteClient(new HoodieSparkEngineContext(spark()), options);
    String instant = writer.startCommit(REPLACE);
    HoodieTableMetaClient table = HoodieTableMetaClient.builder().setBasePath(path).setConf(configuration()).build();
    HoodieInstant requested =
        table.getInstantGenerator().createNewInstant(HoodieInstant.State.REQUESTED, REPLACE, instant);
    table.getActiveTimeline().transitionReplaceRequestedToInflight(requested, Option.empty());
    List statuses = new ArrayList();
    String[] files = split(added);
    for (int i = 0; i < files.length; i++) {
      String[] parts = files[i].split(",");
      statuses.add(status(parts[0], Long.parseLong(parts[1]), Long.parseLong(parts[2]), instant));
    }
    Map replaced = new HashMap();
    String[] gone = split(removed);
    for (int i = 0; i < gone.length; i++) {
      String partition = folder(gone[i]);
      if (!replaced.containsKey(partition)) {
        replaced.put(partition, new ArrayList());
      }
      ((List) replaced.get(partition)).add(name(gone[i]));
    }
    writer.commit(
        instant, spark().parallelize(statuses, 1), Option.of(new HashMap()), REPLACE, replaced, Option.empty());
    writer.close();
    return instant;
  }

  private static WriteStatus status(String file, long rows, long bytes, String instant) {
    HoodieDeltaWriteStat stat = new HoodieDeltaWriteStat();
    stat.setFileId(name(file));
    stat.setPath(ExternalFilePathUtil.appendCommitTimeAndExternalFileMarker(file, instant));
    stat.setPartitionPath(folder(file));
    stat.setNumWrites(rows);
    stat.setTotalWriteBytes(bytes);
    stat.setFileSizeInBytes(bytes);
    WriteStatus status = new WriteStatus();
    status.setFileId(name(file));
    status.setPartitionPath(folder(file));
    status.setStat(stat);
    return status;
  }

  private static HoodieWriteConfig options(String path, String schema, String version) {
    return HoodieWriteConfig.newBuilder()
        .withPath(path)
        .withSchema(schema)
        .withWriteTableVersion(Integer.parseInt(version))
        .withAutoUpgradeVersion(false)
        .withPopulateMetaFields(false)
        .withEmbeddedTimelineServerEnabled(false)
        .withIndexConfig(HoodieIndexConfig.newBuilder().withIndexType(HoodieIndex.IndexType.INMEMORY).build())
        .withCleanConfig(HoodieCleanConfig.newBuilder().withAutoClean(Boolean.FALSE).build())
        .withArchivalConfig(HoodieArchivalConfig.newBuilder().withAutoArchive(Boolean.FALSE).build())
        .withMetadataConfig(HoodieMetadataConfig.newBuilder().enable(true).withMetadataIndexColumnStats(false).build())
        .build();
  }

  private static String[] split(String text) {
    return text.isEmpty() ? new String[0] : text.split(";");
  }

  private static String folder(String file) {
    return file.substring(0, Math.max(file.lastIndexOf('/'), 0));
  }

  private static String name(String file) {
    return file.substring(file.lastIndexOf('/') + 1);
  }

  private static JavaSparkContext spark() {
    return JavaSparkContext.fromSparkContext(SparkSession.active().sparkContext());
  }

  private static StorageConfiguration configuration() {
    return HadoopFSUtils.getStorageConf(spark().hadoopConfiguration());
  }
}

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A name node on a port, and data nodes, with their files in a folder, until standard input ends; each line that comes
 * there kills a data node.  Arguments after these are further properties, as name=value.
 */
public class mini_hdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set("hdfs.minidfs.basedir", arguments[0]);
    conf.set("dfs.permissions.enabled", "false");
    conf.set("dfs.namenode.http-address", "127.0.0.1:0");
    conf.setInt("dfs.namenode.handler.count", 4);
    // A file is closed at once, although the data node has not yet told of its last block: the client asks again after
    // half a second only.
    conf.setInt("dfs.namenode.file.close.num-committed-allowed", 1);
    // A data node that has died is left alone after three seconds, as clusters are configured, but in half a minute.
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.setBoolean("dfs.namenode.avoid.write.stale.datanode", true);
    conf.setInt("dfs.namenode.stale.datanode.interval", 3000);
    conf.setFloat("dfs.namenode.write.stale.datanode.ratio", 1.0f);
    int nodes = Integer.parseInt(arguments[2]);
    for (int i = 3; i < arguments.length; i++) {
      String[] property = arguments[i].split("=", 2);
      conf.set(property[0], property[1]);
    }
    UserGroupInformation.setConfiguration(conf);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf).nameNodePort(Integer.parseInt(arguments[1])).numDataNodes(nodes).build();
    cluster.waitActive();
    System.out.println("ready");
    System.out.flush();
    for (int read = System.in.read(); read >= 0; read = System.in.read()) {
      if (read == '\n') {
        cluster.stopDataNode(0);
        System.out.println("killed");
        System.out.flush();
      }
    }
    cluster.shutdown();
    System.exit(0);
  }
}

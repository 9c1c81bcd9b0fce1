import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A name node on a port, and a data node, with their files in a folder, until standard input ends. */
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
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf).nameNodePort(Integer.parseInt(arguments[1])).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println("ready");
    System.out.flush();
    while (System.in.read() >= 0) {}
    cluster.shutdown();
    System.exit(0);
  }
}

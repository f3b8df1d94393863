import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A NameNode and a DataNode on this machine, for as long as standard input is open. */
public class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    // So that a file of a few megabytes has several blocks.
    settings.set("dfs.blocksize", "1m");
    settings.setInt("dfs.namenode.fs-limits.min-block-size", 1 << 20);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(settings, new File(arguments[0])).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println(cluster.getNameNodePort());
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0); // its files are removed by who started it
  }
}

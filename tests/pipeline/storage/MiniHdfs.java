import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A NameNode and a DataNode on this machine, while standard input is open. */
public class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    // A file of a few megabytes must have several blocks.
    settings.set("dfs.blocksize", "1m");
    settings.setInt("dfs.namenode.fs-limits.min-block-size", 1 << 20);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(settings, new File(arguments[0])).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println(cluster.getNameNodePort());
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0); // the parent process removes its files
  }
}

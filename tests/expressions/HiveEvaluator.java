import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * Hive in this process, with a catalog in memory: each input line is a statement, as a JSON text,
 * and gets a line with its rows, or with an error. The argument is a folder for files.
 */
public class HiveEvaluator {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
    System.setOut(System.err); // where Hive writes
    HiveConf settings = settings(arguments[0]);
    SessionState.start(settings);
    BufferedReader statements =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = statements.readLine()) != null; ) {
      answers.println(JSON.writeValueAsString(answer(JSON.readValue(line, String.class), settings)));
    }
    System.exit(0); // Hive leaves threads behind
  }

  private static Map<String, Object> answer(String statement, HiveConf settings) {
    IDriver driver = DriverFactory.newDriver(settings);
    try {
      driver.run(statement);
      List<Object> rows = new ArrayList<>();
      for (List<Object> some = new ArrayList<>(); driver.getResults(some); some.clear()) {
        some.forEach(row -> rows.add(Arrays.stream((Object[]) row).map(HiveEvaluator::cell).toArray()));
      }
      return Map.of("rows", rows);
    } catch (Exception error) {
      return Map.of("error", error.toString());
    } finally {
      driver.close();
    }
  }

  private static Object cell(Object value) {
    return value == null || value instanceof Boolean ? value : value.toString();
  }

  private static HiveConf settings(String folder) {
    HiveConf settings = new HiveConf();
    Map.ofEntries(
            Map.entry("datanucleus.schema.autoCreateAll", "true"),
            Map.entry("fs.defaultFS", "file:///"),
            Map.entry("hive.exec.local.scratchdir", folder + "/local"),
            Map.entry("hive.exec.scratchdir", folder + "/scratch"),
            // A query without a shuffle is evaluated here.
            Map.entry("hive.execution.engine", "mr"),
            Map.entry("hive.fetch.task.conversion", "more"),
            Map.entry("hive.fetch.task.conversion.threshold", "-1"),
            Map.entry("hive.metastore.schema.verification", "false"),
            Map.entry("hive.stats.autogather", "false"),
            Map.entry("hive.support.concurrency", "false"),
            Map.entry("javax.jdo.option.ConnectionURL", "jdbc:derby:memory:hive;create=true"),
            // Rows are returned as Java values, like in HiveServer2.
            Map.entry(
                "list.sink.output.formatter",
                "org.apache.hadoop.hive.serde2.thrift.ThriftFormatter"),
            Map.entry("list.sink.output.protocol", "10"),
            Map.entry("mapreduce.framework.name", "local"),
            Map.entry("metastore.warehouse.dir", "file:" + folder + "/warehouse"),
            Map.entry("metastore.warehouse.external.dir", "file:" + folder + "/external"))
        .forEach(settings::set);
    return settings;
  }
}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.ranger.plugin.policyengine.RangerAccessRequestImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResourceImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResult;
import org.apache.ranger.plugin.service.RangerBasePlugin;

/**
 * The part that Ranger's plugins share, one for each `TYPE=SERVICE` of the arguments: it polls as configured in
 * `ranger-TYPE-security.xml` on the class path. Each input line is a question, and gets a line.
 */
public final class RangerPlugins {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] types) throws Exception {
    Map<String, RangerBasePlugin> plugins = new HashMap<>();
    for (String type : types) {
      plugins.put(type, new RangerBasePlugin(type, type));
      plugins.get(type).init();
    }
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode asked = JSON.readTree(line);
      System.out.println("answer " + allowed(plugins.get(asked.path("type").asText()), asked));
      System.out.flush();
    }
    Runtime.getRuntime().halt(0); // the plugins' threads would keep the process alive
  }

  private static boolean allowed(RangerBasePlugin plugin, JsonNode asked) {
    RangerAccessResourceImpl resource = new RangerAccessResourceImpl();
    asked.path("resource").fields().forEachRemaining(e -> resource.setValue(e.getKey(), e.getValue().asText()));
    String user = asked.path("user").asText();
    RangerAccessRequestImpl request = new RangerAccessRequestImpl(
        resource, asked.path("access").asText(), user, Collections.emptySet(), Collections.emptySet());
    RangerAccessResult result = plugin.isAccessAllowed(request);
    return result != null && result.getIsAccessDetermined() && result.getIsAllowed();
  }
}

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.Method;
import org.apache.ranger.authorization.hadoop.config.RangerPluginConfig;
import org.apache.ranger.plugin.policyengine.RangerPolicyEngineOptions;
import org.apache.ranger.plugin.service.RangerBasePlugin;
import org.apache.ranger.plugin.util.RangerRoles;
import org.apache.ranger.plugin.util.ServicePolicies;
import org.apache.ranger.plugin.util.ServiceTags;

/** Ranger's own policy engine with the tags that a plugin downloads: POLICIES REQUESTS ROLES TAGS. Otherwise like RangerJudge. */
public final class RangerTagJudge {
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

  public static void main(String[] args) throws Exception {
    Method policies = method("policies", File.class);
    Method answer = method("answer", RangerBasePlugin.class, JsonNode.class);
    RangerBasePlugin plugin = plugin(
        (ServicePolicies) policies.invoke(null, new File(args[0])),
        JSON.readValue(new File(args[2]), RangerRoles.class),
        JSON.readValue(new File(args[3]), ServiceTags.class));
    for (JsonNode each : JSON.readTree(new File(args[1]))) {
      System.out.println(JSON.writeValueAsString(answer.invoke(null, plugin, each)));
    }
    System.out.flush();
    Runtime.getRuntime().halt(0); // the plugin's threads would keep the process alive
  }

  private static RangerBasePlugin plugin(ServicePolicies policies, RangerRoles roles, ServiceTags tags) {
    RangerPolicyEngineOptions options = new RangerPolicyEngineOptions();
    options.disablePolicyRefresher = true;
    options.disableTagRetriever = true;
    options.disableUserStoreRetriever = true;
    String type = policies.getServiceDef().getName();
    RangerPluginConfig config = new RangerPluginConfig(type, policies.getServiceName(), "judge", null, null, options);
    return new RangerBasePlugin(config, policies, tags, roles);
  }

  private static Method method(String name, Class<?>... types) throws Exception {
    Method found = RangerJudge.class.getDeclaredMethod(name, types);
    found.setAccessible(true);
    return found;
  }
}

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import de.captaingoldfish.scim.sdk.common.constants.ScimType;
import de.captaingoldfish.scim.sdk.common.constants.enums.HttpMethod;
import de.captaingoldfish.scim.sdk.common.constants.enums.SortOrder;
import de.captaingoldfish.scim.sdk.common.exceptions.ConflictException;
import de.captaingoldfish.scim.sdk.common.resources.Group;
import de.captaingoldfish.scim.sdk.common.resources.ResourceNode;
import de.captaingoldfish.scim.sdk.common.resources.ServiceProvider;
import de.captaingoldfish.scim.sdk.common.resources.User;
import de.captaingoldfish.scim.sdk.common.resources.complex.BulkConfig;
import de.captaingoldfish.scim.sdk.common.resources.complex.ChangePasswordConfig;
import de.captaingoldfish.scim.sdk.common.resources.complex.FilterConfig;
import de.captaingoldfish.scim.sdk.common.resources.complex.Meta;
import de.captaingoldfish.scim.sdk.common.resources.complex.PatchConfig;
import de.captaingoldfish.scim.sdk.common.resources.complex.SortConfig;
import de.captaingoldfish.scim.sdk.common.resources.multicomplex.AuthenticationScheme;
import de.captaingoldfish.scim.sdk.common.response.ScimResponse;
import de.captaingoldfish.scim.sdk.common.schemas.SchemaAttribute;
import de.captaingoldfish.scim.sdk.common.utils.JsonHelper;
import de.captaingoldfish.scim.sdk.server.endpoints.Context;
import de.captaingoldfish.scim.sdk.server.endpoints.ResourceEndpoint;
import de.captaingoldfish.scim.sdk.server.endpoints.ResourceHandler;
import de.captaingoldfish.scim.sdk.server.endpoints.authorize.Authorization;
import de.captaingoldfish.scim.sdk.server.endpoints.base.GroupEndpointDefinition;
import de.captaingoldfish.scim.sdk.server.endpoints.base.UserEndpointDefinition;
import de.captaingoldfish.scim.sdk.server.filter.FilterNode;
import de.captaingoldfish.scim.sdk.server.response.PartialListResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.function.Function;

/**
 * Serves de.captaingoldfish:scim-sdk-server with the HTTP server of the JDK, with its data in memory. The library parses, validates,
 * filters, sorts, pages, patches and projects; this file stores resources and rejects a duplicate userName. Prints the base URL and the token.
 */
public class Server {

  /**
   * Stores resources of one type. The library reads T from the subclass. key returns the unique name of a resource, or null if names need
   * not be unique.
   */
  static class Store<T extends ResourceNode> extends ResourceHandler<T> {

    private final Map<String, T> stored = Collections.synchronizedMap(new LinkedHashMap<>());
    private final Class<T> type;
    private final Function<T, String> key;

    Store(Class<T> type, Function<T, String> key) {
      this.type = type;
      this.key = key;
    }

    private T copy(T resource) {
      return JsonHelper.copyResourceToObject(resource.deepCopy(), type);
    }

    private T store(String id, T resource, Instant created) {
      synchronized (stored) {
        String name = key.apply(resource);
        for (Map.Entry<String, T> other : stored.entrySet()) {
          if (name != null && !other.getKey().equals(id) && name.equalsIgnoreCase(key.apply(other.getValue()))) {
            throw new ConflictException("the name " + name + " is taken", ScimType.RFC7644.UNIQUENESS);
          }
        }
        T old = stored.get(id);
        resource.setId(id);
        resource.remove("meta");
        boolean changed = old == null || !withoutMeta(old).equals(withoutMeta(resource));
        Instant modified = changed ? Instant.now() : old.getMeta().flatMap(Meta::getLastModified).orElse(created);
        resource.setMeta(Meta.builder().resourceType(type.getSimpleName()).created(created)
            .lastModified(old == null ? created : modified).build());
        stored.put(id, copy(resource));
        return resource;
      }
    }

    private T withoutMeta(T resource) {
      T plain = copy(resource);
      plain.remove("meta");
      return plain;
    }

    @Override
    public T createResource(T resource, Context context) {
      return store(UUID.randomUUID().toString(), resource, Instant.now());
    }

    @Override
    public T getResource(String id, List<SchemaAttribute> attributes, List<SchemaAttribute> excluded, Context context) {
      T resource = stored.get(id);
      return resource == null ? null : copy(resource);
    }

    @Override
    public PartialListResponse<T> listResources(long startIndex, int count, FilterNode filter, SchemaAttribute sortBy, SortOrder order,
        List<SchemaAttribute> attributes, List<SchemaAttribute> excluded, Context context) {
      List<T> all = new ArrayList<>();
      synchronized (stored) {
        stored.values().forEach(resource -> all.add(copy(resource)));
      }
      // With autoFiltering and autoSorting the library filters, sorts and pages.
      return PartialListResponse.<T>builder().resources(all).totalResults(all.size()).build();
    }

    @Override
    public T updateResource(T resource, Context context) {
      String id = resource.getId().orElseThrow();
      T old = stored.get(id);
      return old == null ? null : store(id, resource, old.getMeta().flatMap(Meta::getCreated).orElseThrow());
    }

    @Override
    public void deleteResource(String id, Context context) {
      if (stored.remove(id) == null) {
        throw new de.captaingoldfish.scim.sdk.common.exceptions.ResourceNotFoundException("no resource has the id " + id);
      }
    }
  }

  /** Accepts one bearer token. */
  record Bearer(String token) implements Authorization {

    @Override
    public Set<String> getClientRoles() {
      return Set.of();
    }

    @Override
    public boolean authenticate(Map<String, String> headers, Map<String, String> query) {
      String[] words = new TreeMap<String, String>(String.CASE_INSENSITIVE_ORDER) {{
        putAll(headers);
      }}.getOrDefault("Authorization", "").split(" +");
      return words.length == 2 && words[0].equalsIgnoreCase("Bearer") && words[1].equals(token);
    }
  }

  public static void main(String[] arguments) throws IOException {
    String token = arguments.length > 0 ? arguments[0] : "interop-token";
    ServiceProvider provider = ServiceProvider.builder()
        .filterConfig(FilterConfig.builder().supported(true).maxResults(1000).build())
        .sortConfig(SortConfig.builder().supported(true).build())
        .changePasswordConfig(ChangePasswordConfig.builder().supported(true).build())
        .patchConfig(PatchConfig.builder().supported(true).build())
        .bulkConfig(BulkConfig.builder().supported(true).maxOperations(100).maxPayloadSize(1L << 20).build())
        .authenticationSchemes(List.of(AuthenticationScheme.builder().name("Bearer").type("oauthbearertoken")
            .description("a fixed bearer token").build()))
        .build();
    ResourceEndpoint endpoint = new ResourceEndpoint(provider);
    var users = endpoint.registerEndpoint(new UserEndpointDefinition(new Store<User>(User.class, u -> u.getUserName().orElse(null)) {}));
    var groups = endpoint.registerEndpoint(new GroupEndpointDefinition(new Store<Group>(Group.class, g -> null) {}));
    for (var type : List.of(users, groups)) {
      type.getFeatures().setAutoFiltering(true);
      type.getFeatures().setAutoSorting(true);
    }

    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "0"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    String base = "http://127.0.0.1:" + server.getAddress().getPort() + "/scim/v2";
    server.createContext("/scim/v2", exchange -> {
      try (exchange) {
        serve(endpoint, exchange, base.substring(0, base.indexOf("/scim/v2")), new Context(new Bearer(token)));
      }
    });
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.start();
    System.out.println(base + " " + token);
  }

  private static void serve(ResourceEndpoint endpoint, HttpExchange exchange, String host, Context context) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    Map<String, String> headers = new LinkedHashMap<>();
    exchange.getRequestHeaders().forEach((name, values) -> headers.put(name, String.join(", ", values)));
    HttpMethod method;
    try {
      method = HttpMethod.valueOf(exchange.getRequestMethod());
    } catch (IllegalArgumentException unknown) {
      exchange.getResponseHeaders().set("Allow", "GET, POST, PUT, PATCH, DELETE");
      exchange.sendResponseHeaders(405, -1);
      return;
    }
    ScimResponse response;
    synchronized (endpoint) { // in place of the transaction of a database: the library reads and writes a resource separately
      response = endpoint.handleRequest(host + exchange.getRequestURI(), method, body, headers, context);
    }
    response.getHttpHeaders().forEach((name, value) -> exchange.getResponseHeaders().set(name, value));
    boolean empty = response.getHttpStatus() == 204 || response.isEmpty();
    byte[] data = empty ? new byte[0] : response.toString().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(response.getHttpStatus(), data.length == 0 ? -1 : data.length);
    if (data.length > 0) {
      exchange.getResponseBody().write(data);
    }
  }
}

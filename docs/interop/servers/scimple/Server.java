import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.ws.rs.core.Response.Status;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import org.apache.directory.scim.core.repository.PatchHandler;
import org.apache.directory.scim.core.repository.Repository;
import org.apache.directory.scim.core.schema.SchemaRegistry;
import org.apache.directory.scim.server.configuration.ServerConfiguration;
import org.apache.directory.scim.server.exception.UnableToCreateResourceException;
import org.apache.directory.scim.server.exception.UnableToDeleteResourceException;
import org.apache.directory.scim.server.exception.UnableToUpdateResourceException;
import org.apache.directory.scim.spec.exception.ResourceException;
import org.apache.directory.scim.spec.extension.EnterpriseExtension;
import org.apache.directory.scim.spec.filter.Filter;
import org.apache.directory.scim.spec.filter.FilterExpressions;
import org.apache.directory.scim.spec.filter.FilterResponse;
import org.apache.directory.scim.spec.filter.PageRequest;
import org.apache.directory.scim.spec.filter.SortRequest;
import org.apache.directory.scim.spec.filter.attribute.AttributeReference;
import org.apache.directory.scim.spec.patch.PatchOperation;
import org.apache.directory.scim.spec.resources.ScimExtension;
import org.apache.directory.scim.spec.resources.ScimGroup;
import org.apache.directory.scim.spec.resources.ScimResource;
import org.apache.directory.scim.spec.resources.ScimUser;
import org.apache.directory.scim.spec.schema.Meta;
import org.apache.directory.scim.spec.schema.ServiceProviderConfiguration.AuthenticationSchema;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Serves Apache Directory SCIMple with its Spring Boot starter, with its data in memory. The library parses, validates, filters, patches and
 * projects. This file stores resources, sets id and meta, selects the page of a list, rejects a duplicate userName and accepts one bearer
 * token: the library leaves these to the application. The library does not sort. Prints the base URL and the token.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class Server {

  static final String TOKEN = "interop-token";
  static volatile String base;

  public static void main(String[] arguments) {
    var application = new SpringApplication(Server.class);
    application.setDefaultProperties(Map.of("server.address", "127.0.0.1", "server.port", System.getenv().getOrDefault("PORT", "0"),
        "spring.jersey.application-path", "/scim/v2", "spring.main.banner-mode", "off", "logging.level.root", "off"));
    var context = (ServletWebServerApplicationContext) application.run();
    base = "http://127.0.0.1:" + context.getWebServer().getPort() + "/scim/v2";
    System.out.println(base + " " + TOKEN);
  }

  @Bean
  ServerConfiguration configuration() {
    return new ServerConfiguration().setId("interop").setSupportsFilter(true).setFilterMaxResults(1000).setSupportsChangePassword(true)
        .setBulkMaxPayloadSize(1 << 20).addAuthenticationSchema(AuthenticationSchema.oauthBearer());
  }

  @Bean
  Repository<ScimUser> users(SchemaRegistry schemas, PatchHandler patches) {
    return new Store<>(ScimUser.class, List.of(EnterpriseExtension.class), ScimUser::getUserName, schemas, patches);
  }

  @Bean
  Repository<ScimGroup> groups(SchemaRegistry schemas, PatchHandler patches) {
    return new Store<>(ScimGroup.class, List.of(), group -> null, schemas, patches);
  }

  /** Accepts one bearer token. */
  @Bean
  HttpFilter bearer() {
    return new HttpFilter() {
      @Override
      protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
          throws IOException, ServletException {
        String given = request.getHeader("Authorization");
        String[] words = (given == null ? "" : given).split(" +");
        if (words.length == 2 && words[0].equalsIgnoreCase("Bearer") && words[1].equals(TOKEN)) {
          chain.doFilter(request, response);
          return;
        }
        response.setStatus(401);
        response.setHeader("WWW-Authenticate", "Bearer realm=\"interop\"");
        response.setContentType("application/scim+json");
        response.setCharacterEncoding("UTF-8"); // otherwise the container adds the charset ISO-8859-1
        response.getWriter().write("{\"schemas\":[\"urn:ietf:params:scim:api:messages:2.0:Error\"],\"status\":\"401\"}");
      }
    };
  }

  /** Stores resources of one type. key returns the unique name of a resource, or null if names need not be unique. */
  static class Store<T extends ScimResource> implements Repository<T> {

    private final Map<String, T> stored = new LinkedHashMap<>();
    private final Class<T> type;
    private final List<Class<? extends ScimExtension>> extensions;
    private final Function<T, String> key;
    private final SchemaRegistry schemas;
    private final PatchHandler patches;
    private long changes;

    Store(Class<T> type, List<Class<? extends ScimExtension>> extensions, Function<T, String> key, SchemaRegistry schemas,
        PatchHandler patches) {
      this.type = type;
      this.extensions = extensions;
      this.key = key;
      this.schemas = schemas;
      this.patches = patches;
    }

    @Override
    public Class<T> getResourceClass() {
      return type;
    }

    @Override
    public List<Class<? extends ScimExtension>> getExtensionList() {
      return extensions;
    }

    @Override
    public synchronized T create(T resource) throws ResourceException {
      if (taken(null, resource)) {
        throw new UnableToCreateResourceException(Status.CONFLICT, "the name " + key.apply(resource) + " is taken");
      }
      resource.setId(UUID.randomUUID().toString());
      return store(resource, null);
    }

    @Override
    public synchronized T update(String id, String version, T resource, Set<AttributeReference> included, Set<AttributeReference> excluded)
        throws ResourceException {
      T old = existing(id);
      if (taken(id, resource)) {
        throw new UnableToUpdateResourceException(Status.CONFLICT, "the name " + key.apply(resource) + " is taken");
      }
      resource.setId(id);
      return store(resource, old);
    }

    @Override
    public synchronized T patch(String id, String version, List<PatchOperation> operations, Set<AttributeReference> included,
        Set<AttributeReference> excluded) throws ResourceException {
      return update(id, version, patches.apply(copy(existing(id)), operations), included, excluded);
    }

    @Override
    public synchronized T get(String id) {
      return copy(stored.get(id));
    }

    @Override
    public synchronized FilterResponse<T> find(Filter filter, PageRequest page, SortRequest sort) {
      List<T> matches = stored.values().stream()
          .filter(FilterExpressions.inMemory(filter, schemas.getBaseSchemaOfResourceType(typeName())))
          .map(this::copy).toList();
      int skip = page.getStartIndex() == null ? 0 : Math.max(0, page.getStartIndex() - 1);
      int count = page.getCount() == null ? 1000 : Math.max(0, Math.min(1000, page.getCount()));
      return new FilterResponse<>(matches.stream().skip(skip).limit(count).toList(), page, matches.size());
    }

    @Override
    public synchronized void delete(String id) throws ResourceException {
      if (stored.remove(id) == null) {
        throw new UnableToDeleteResourceException(Status.NOT_FOUND, "no resource has the id " + id);
      }
    }

    private String typeName() {
      return type == ScimUser.class ? ScimUser.RESOURCE_NAME : ScimGroup.RESOURCE_NAME;
    }

    private T existing(String id) throws ResourceException {
      T old = stored.get(id);
      if (old == null) {
        throw new UnableToUpdateResourceException(Status.NOT_FOUND, "no resource has the id " + id);
      }
      return old;
    }

    private boolean taken(String id, T resource) {
      String name = key.apply(resource);
      return name != null && stored.values().stream()
          .anyMatch(other -> !other.getId().equals(id) && name.equalsIgnoreCase(key.apply(other)));
    }

    private T store(T resource, T old) {
      LocalDateTime now = LocalDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.MILLIS);
      Meta meta = new Meta().setResourceType(typeName()).setLocation(base + "/" + typeName() + "s/" + resource.getId())
          .setCreated(now).setLastModified(now).setVersion("" + ++changes);
      if (old != null) {
        resource.setMeta(old.getMeta());
        meta.setCreated(old.getMeta().getCreated());
        if (resource.equals(old)) {
          meta = old.getMeta();
        }
      }
      resource.setMeta(meta);
      stored.put(resource.getId(), copy(resource));
      return resource;
    }

    @SuppressWarnings("unchecked")
    private T copy(T resource) {
      try {
        var bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(resource);
        return (T) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
      } catch (IOException | ClassNotFoundException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}

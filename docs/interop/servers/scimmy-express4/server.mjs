// A SCIM server built on the npm package scimmy-routers, with its data in memory: the third-party target of
// the interop test. Prints the base URL on its first line; GET /dump returns all data.
import { randomUUID } from "node:crypto";
import express from "express";
import SCIMMY from "scimmy";
import SCIMMYRouters from "scimmy-routers";

const token = process.argv[2] ?? "interop-token";
const users = new Map();
const groups = new Map();
const log = [];

function store(kind, resourceType, unique) {
  return {
    ingress(resource, instance) {
      const now = new Date().toISOString();
      const id = resource.id ?? randomUUID();
      if (resource.id && !kind.has(id)) throw new SCIMMY.Types.Error(404, null, `Resource ${id} not found`);
      const body = JSON.parse(JSON.stringify(instance));
      for (const other of kind.values()) {
        if (unique && other.id !== id && other[unique]?.toLowerCase() === body[unique]?.toLowerCase())
          throw new SCIMMY.Types.Error(409, "uniqueness", `${unique} is taken`);
      }
      const old = kind.get(id);
      const changed = !old || JSON.stringify({ ...body, id, meta: 0 }) !== JSON.stringify({ ...old, meta: 0 });
      const meta = { resourceType, created: old?.meta.created ?? now, lastModified: changed ? now : old.meta.lastModified };
      kind.set(id, { ...body, id, meta });
      return kind.get(id);
    },
    egress(resource) {
      if (resource.id) {
        if (!kind.has(resource.id)) throw new SCIMMY.Types.Error(404, null, `Resource ${resource.id} not found`);
        return kind.get(resource.id);
      }
      const all = [...kind.values()];
      return resource.filter ? resource.filter.match(all) : all;
    },
    degress(resource) {
      if (!kind.delete(resource.id)) throw new SCIMMY.Types.Error(404, null, `Resource ${resource.id} not found`);
    },
  };
}

SCIMMY.Resources.declare(SCIMMY.Resources.User.extend(SCIMMY.Schemas.EnterpriseUser, false), store(users, "User", "userName"));
SCIMMY.Resources.declare(SCIMMY.Resources.Group, store(groups, "Group"));

const app = express();
app.use((req, res, next) => {
  res.on("finish", () => log.push(`${req.method} ${req.originalUrl} ${res.statusCode}`));
  next();
});
app.get("/dump", (_, res) => res.json({ users: [...users.values()], groups: [...groups.values()], log }));
app.use("/scim/v2", new SCIMMYRouters({
  type: "bearer",
  handler: (request) => {
    const [scheme, credential] = (request.header("Authorization") ?? "").split(" ");
    if (scheme.toLowerCase() !== "bearer" || credential !== token) throw new Error("wrong token");
    return "interop";
  },
}));
const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/scim/v2 ${token}`));

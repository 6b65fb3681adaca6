// Serves the directory-sync part of @boxyhq/saml-jackson with node:http, with its data in memory. The package is a
// library; Ory Polis serves it at /api/scim/v2.0/{directory}/{Users|Groups}/{id} and returns JSON. Prints the base URL
// and the token. SCIM responses do not contain the current members of a group. GET /members/{id} returns the stored members.
import { createServer } from "node:http";
import jackson from "@boxyhq/saml-jackson";

const { directorySyncController: sync } = await jackson.controllers({
  externalUrl: "http://127.0.0.1", samlAudience: "interop", samlPath: "/saml", scimPath: "/scim", noAnalytics: true,
  db: { engine: "mem" },
});
const { data: directory, error } = await sync.directories.create({
  tenant: "interop", product: "scim", name: "interop", type: "generic-scim-v2",
});
if (error) throw new Error(error.message);

const number = (text) => (text ? parseInt(text) : undefined);

async function members(groupId) {
  const groups = sync.groups.setTenantAndProduct("interop", "scim");
  const all = [];
  for (let page; page === undefined || page.length > 0; all.push(...page))
    page = (await groups.getGroupMembers({ groupId, pageOffset: all.length, pageLimit: 50 })).data.map((m) => m.user_id);
  return { status: 200, data: all };
}

async function answer(request) {
  const url = new URL(request.url, "http://127.0.0.1");
  if (url.pathname.startsWith("/members/")) return members(url.pathname.split("/")[2]);
  const [, , directoryId, resourceType = "", resourceId] = url.pathname.split("/");
  let text = "";
  for await (const chunk of request) text += chunk;
  let body;
  try {
    body = text ? JSON.parse(text) : undefined;
  } catch {
    return { status: 400, data: { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], status: "400", detail: "not JSON" } };
  }
  return sync.requests.handle({
    method: request.method, directoryId, resourceType, resourceId, body,
    apiSecret: request.headers.authorization?.split(" ")[1] ?? null,
    query: {
      count: number(url.searchParams.get("count")), startIndex: number(url.searchParams.get("startIndex")),
      filter: url.searchParams.get("filter") ?? undefined,
    },
  });
}

const server = createServer(async (request, response) => {
  const { status, data } = await answer(request).catch((e) => ({ status: 500, data: { error: e.message } }));
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(data));
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/scim/${directory.id} ${directory.scim.secret}`);
});

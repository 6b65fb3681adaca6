// The SCIM plugin of better-auth 1.6 behind node:http, with its data in memory. Prints the base URL and the token.
import { createServer } from "node:http";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { getAuthTables } from "better-auth/db";
import { toNodeHandler } from "better-auth/node";
import { admin } from "better-auth/plugins";
import { scim } from "@better-auth/scim";

const secret = process.argv[2] ?? "interop-token";
// The bearer token of the plugin is the base64url form of SECRET:PROVIDER.
const token = Buffer.from(`${secret}:interop`).toString("base64url");
const server = createServer((request, response) => handler(request, response));
await new Promise((listening) => server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}`;

const options = {
  baseURL,
  secret: "a secret that is only used on loopback",
  // The plugin admin stores whether a user is active; without it the SCIM plugin rejects active: false.
  plugins: [admin(), scim({ defaultSCIM: [{ providerId: "interop", scimToken: secret }] })],
};
const tables = Object.fromEntries(Object.values(getAuthTables(options)).map((table) => [table.modelName, []]));
const handler = toNodeHandler(betterAuth({ ...options, database: memoryAdapter(tables) }));
console.log(`${baseURL}/api/auth/scim/v2 ${token}`);

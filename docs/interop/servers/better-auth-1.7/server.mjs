// The SCIM plugin of better-auth behind node:http, with its data in memory.
import { createServer } from "node:http";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { toNodeHandler } from "better-auth/node";
import { getAuthTables } from "better-auth/db";
import { scim } from "@better-auth/scim";

const token = process.argv[2] ?? "interop-token";
const server = createServer((request, response) => handler(request, response));
await new Promise((listening) => server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}`;

const options = {
  baseURL,
  secret: "a secret that is only used on loopback",
  plugins: [scim({ connections: [{ id: "interop", credentials: [{ type: "bearer", id: "one", token }] }] })],
};
const tables = Object.fromEntries(Object.values(getAuthTables(options)).map((table) => [table.modelName, []]));
const handler = toNodeHandler(betterAuth({ ...options, database: memoryAdapter(tables) }));
console.log(`${baseURL}/api/auth/scim/v2 ${token}`);

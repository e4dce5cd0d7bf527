// The official SDK v2 as a client of ours: it finds out the era by asking.
// SPDX-License-Identifier: Apache-2.0
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BINARY, serveHttp, tryOut } from "./asking.mjs";

const http = process.argv[2] === "http" ? await serveHttp() : null;
const transport = http
  ? new StreamableHTTPClientTransport(http.url)
  : new StdioClientTransport({ command: BINARY, args: ["mcp"] });
const client = new Client(
  { name: "v2-peer", version: "1.0.0" },
  { versionNegotiation: { mode: "auto" } },
);
await client.connect(transport);
await tryOut(client, client.getNegotiatedProtocolVersion());
await client.close();
http?.stop();

// The official SDK v1 as a client of ours: the legacy era.
// SPDX-License-Identifier: Apache-2.0
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { BINARY, serveHttp, tryOut } from "./asking.mjs";

const http = process.argv[2] === "http" ? await serveHttp() : null;
const transport = http
  ? new StreamableHTTPClientTransport(http.url)
  : new StdioClientTransport({ command: BINARY, args: ["mcp"] });
let version;
const setVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (said) => {
  version = said;
  setVersion?.(said);
};
const client = new Client({ name: "v1-peer", version: "1.0.0" });
await client.connect(transport);
await tryOut(client, version);
await client.close();
http?.stop();

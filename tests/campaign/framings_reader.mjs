// A reader of HTTP/1 on Node's parser: it answers each request with what it read of it.
// node framings_reader.mjs PORT
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const pieces = [];
  request.on("error", () => {});
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
    const header = (name) => request.headers[name] ?? "-";
    const line = [request.method, request.url, body.length, hash, header("x-mark"), header("x-front")].join(" | ");
    response.setHeader("Content-Length", Buffer.byteLength(line));
    response.end(line);
  });
});
// Node.js reads neither the body of a request that offers an upgrade nor anything behind it; so it refuses.
server.on("upgrade", (_, socket) => socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
server.listen(Number(process.argv[2]), "127.0.0.1");
process.stdin.on("end", () => process.exit(0)).resume();

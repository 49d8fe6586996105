/**
 * The upstream for what nginx alone cannot do: `node bench/proxy/upstream.ts PORT`. `GET /bytes/<n>` sends n bytes, `POST /`
 * reads a body and returns its length, `/slow` responds after 100 ms, and an upgrade echoes.
 */
import { createServer, type ServerResponse } from 'node:http';

const SLOW_MS = 100;
const piece = Buffer.alloc(262_144, 'x');

const server = createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
  if (req.url === '/slow') setTimeout(() => res.writeHead(200, { 'Content-Length': 2 }).end('ok'), SLOW_MS);
  else if (req.url!.startsWith('/bytes/')) sendBytes(res, Number(req.url!.slice(7)));
  else {
    let length = 0;
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    req.on('end', () => res.end(String(length)));
  }
});
server.on('upgrade', (_req, socket) => {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  socket.pipe(socket);
});
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 }, () => {
  process.stdout.write(`upstream at ${process.argv[2]}\n`);
});

function sendBytes(res: ServerResponse, count: number): void {
  res.writeHead(200, { 'Content-Length': count });
  let left = count;
  const push = (): void => {
    while (left > 0) {
      const next = left < piece.length ? piece.subarray(0, left) : piece;
      left -= next.length;
      if (!res.write(next)) {
        res.once('drain', push);
        return;
      }
    }
    res.end();
  };
  push();
}

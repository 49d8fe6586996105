import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Systems give higher ones to connections, and to whoever listens on any port: one of those could be taken before it is used. */
const [FIRST, LAST] = [20_000, 32_000];
const given = new Set<number>();

/** Returns a port of this machine that nobody listens on, another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer().listen(port);
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

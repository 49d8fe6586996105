import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Answers on a socket as a test says, for what a real engine does not do on demand: hang, vanish, refuse. */
export async function startFakeEngine(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ socketPath: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'podyard-engine-'));
  const socketPath = join(folder, 'engine.sock');
  const server = createServer(answer);
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    socketPath,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      rmSync(folder, { recursive: true });
    },
  };
}

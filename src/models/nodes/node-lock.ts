import { rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A holder that has bound its socket and does not listen yet refuses for as long. */
const SECOND_LOOK_MS = 100;

/**
 * Runs `work` while no other process of this node runs one with the same path, in whichever container: the holder listens on a
 * socket there, so that its death ends the lock at once. Where a file system has no sockets, and in the moment after a death, two may
 * run; so what they do must be right, only not twice.
 */
export async function withNodeLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const waiting = new Set<Socket>();
  const server = await take(path, waiting, signal);
  try {
    return await work();
  } finally {
    server?.close(); // removes the socket
    for (const socket of waiting) socket.destroy();
  }
}

/** Resolves with the socket that is the lock; null: there can be none. */
async function take(path: string, waiting: Set<Socket>, signal: AbortSignal): Promise<Server | null> {
  for (let dead: number | undefined; ; ) {
    signal.throwIfAborted();
    const server = createServer((socket) => {
      waiting.add(socket.on('error', () => {}).on('close', () => waiting.delete(socket)));
    });
    const fault = await new Promise<string | null>((resolve) => {
      server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      server.listen(path, () => resolve(null));
    });
    if (fault === null) return server;
    if (fault !== 'EADDRINUSE') return null;
    const inode = await inodeOf(path);
    if (inode === undefined || (await outlive(path, signal))) dead = undefined;
    else if (inode === dead) await rm(path, { force: true });
    else {
      dead = inode;
      await sleep(SECOND_LOOK_MS, undefined, { signal });
    }
  }
}

/** Resolves when the holder has released it; false: no process holds it. */
function outlive(path: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let isHeld = false;
    const socket = connect(path, () => {
      isHeld = true;
    });
    const end = () => socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    socket.on('error', () => {}).resume();
    socket.on('close', () => {
      signal.removeEventListener('abort', end);
      resolve(isHeld);
    });
  });
}

async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

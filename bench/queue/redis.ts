import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface RedisServer {
  pid: number;
  socket: string;
  stop(): Promise<void>;
}

/** Starts Redis with the durability BullMQ's documentation recommends: an append-only file, synced each second. */
export async function startRedis(dir: string): Promise<RedisServer> {
  await mkdir(dir, { recursive: true });
  const socket = join(dir, 'redis.sock');
  const settings = {
    port: '0',
    unixsocket: socket,
    dir,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.once('error', () =>
      reject(new Error('redis-server is not installed (Debian: apt-get install redis-server)')),
    );
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    child.stdout.on('data', (piece: Buffer) => {
      if (piece.includes('eady to accept connections')) resolve();
    });
  });
  return {
    pid: child.pid!,
    socket,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL'); // its directory is discarded
      await ended;
    },
  };
}

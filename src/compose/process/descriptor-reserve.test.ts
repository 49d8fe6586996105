import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const PROGRAM = new URL('../../../test/fixtures/few-descriptors.ts', import.meta.url).pathname;

test.skipIf(process.platform !== 'linux')(
  'with few descriptors left connections are refused, those that there are go on, and files can still be opened',
  async () => {
    const child = spawn('/bin/sh', ['-c', 'ulimit -n 128; exec "$0" "$1"', process.execPath, PROGRAM], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [chunk] = await once(child.stdout, 'data');
    const port = Number(String(chunk));
    const first = await open(port);
    const others = await Promise.all(Array.from({ length: 200 }, () => open(port)));
    onTestFinished(() => {
      for (const socket of [first, ...others]) socket.destroy();
    });
    await expect.poll(() => others.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(100);
    expect(await ask(first)).toBeGreaterThanOrEqual(24);

    for (const socket of others) socket.destroy();
    await expect.poll(async () => ask(await open(port)).catch(() => 0)).toBeGreaterThan(80);
    expect(child.exitCode).toBeNull();
  },
);

/** A refused connection is opened by the kernel, and closed at once. */
async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.on('end', () => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Returns how many files the program can open. */
async function ask(socket: Socket): Promise<number> {
  socket.removeAllListeners('end');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const answer = await text(socket);
  return Number(answer.split('\r\n\r\n')[1]!.split('\r\n').at(-1));
}

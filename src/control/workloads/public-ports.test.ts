import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { choosePublicPorts } from './start-on-ports.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const take = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      servers.push(server);
      resolve(true);
    });
  });

test('each private port gets a free public port of its own', async () => {
  const ports = Array.from({ length: 20 }, (_, i) => i + 1);
  const chosen = await choosePublicPorts('127.0.0.1', ports);
  expect([...chosen.keys()]).toEqual(ports);
  expect(new Set(chosen.values()).size).toBe(20);
  for (const port of chosen.values()) {
    expect(port).toBeGreaterThanOrEqual(30_000);
    expect(port).toBeLessThan(32_768);
  }
  expect(await take([...chosen.values()][0]!)).toBe(true);
});

test('no private ports get no public ports', async () => {
  expect(await choosePublicPorts('127.0.0.1', [])).toEqual(new Map());
});

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Engine } from './engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'podyard-engine-'));
const socketPath = join(folder, 'engine.sock');
const visits: string[] = [];
let engineServer: Server;
let target: Server;
let location: string;

beforeAll(async () => {
  target = createServer((req, res) => {
    visits.push(req.url!);
    res.end('{}');
  }).listen(0, '127.0.0.1');
  engineServer = createServer((req, res) => {
    if (req.url!.startsWith('/version')) res.end('{"ok":true}');
    else res.writeHead(301, { location }).end();
  }).listen(socketPath);
  await Promise.all([once(target, 'listening'), once(engineServer, 'listening')]);
});

afterAll(() => {
  target.close();
  engineServer.close();
  rmSync(folder, { recursive: true });
});

test.each([
  ['to another server', () => `http://127.0.0.1:${(target.address() as AddressInfo).port}/x`],
  ['to a host that does not exist', () => 'http://images.invalid/containers/json'],
  ['to itself', () => '/images/json'],
])('a redirect of the engine %s is an error of that request, and is not followed', async (_, locationOf) => {
  location = locationOf();
  const engine = new Engine(socketPath);
  await expect(engine.json({ method: 'GET', path: '/images//x/json' })).rejects.toThrow(/redirect/);
  await expect(engine.stream({ method: 'POST', path: '/images/create' })).rejects.toThrow(/redirect/);
  expect(await engine.json({ method: 'GET', path: '/version' })).toEqual({ ok: true });
  expect(visits).toEqual([]);
  await engine.close();
});

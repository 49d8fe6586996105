import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { freePort } from '../free-port.ts';
import { lineOf, NOTHING_RUNS, observe, type Suite, textAt, until } from './probes.ts';

/** Tests what runtime.ts guarantees of addresses, ports, groups and mounts. */
export function placesContract({ runtime, spec, started, ready, under }: Suite): void {
  test('a start returns the workload’s address and ports, as the list does until it ends', async () => {
    const ports = ['8000/http', '22/tcp'];
    const wanted = spec('idle', { kind: 'pod', ports });
    const place = await runtime().start(wanted);
    expect(await runtime().start(wanted)).toEqual(place);
    const { address, publishedPorts } = await observe(runtime(), wanted.id);
    expect({ address, publishedPorts }).toEqual(place);
    expect(publishedPorts.map(({ private: port, type }) => `${port}/${type}`)).toEqual(ports);
    const ended = await started('exit7', { ports });
    const seen = await until(runtime(), ended, (one) => one?.state === 'exited');
    expect(seen).toMatchObject({ address: null, publishedPorts: [] });
  });

  test('a workload’s port can be reached, and a pod’s TCP port is published; nothing else is', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const mine = createServer((_, answer) => answer.end('this machine')).listen(0);
    await once(mine, 'listening');
    const stranger = (mine.address() as AddressInfo).port;
    const port = await freePort();
    const ports = [`${port}/tcp`, `${port}/http`];
    const served = await started('serve', { kind: 'pod', ports, env: { LISTEN: String(port) } });
    await lineOf(runtime(), served, (line) => line === 'up');
    const neighbour = await ready('idle');
    expect(await textAt(await runtime().reach(served, port))).toBe('hello');
    const [published, unpublished] = (await observe(runtime(), served)).publishedPorts;
    expect(unpublished).toEqual({ private: port, type: 'http', public: null, ip: null });
    expect(await textAt({ host: published!.ip!, port: published!.public! })).toBe('hello');
    expect(await textAt(await runtime().reach(neighbour, port))).toBe('nothing');
    for (const id of [served, neighbour]) expect(await textAt(await runtime().reach(id, stranger))).toBe('nothing');
    await runtime().stop(served, 0);
    expect(await runtime().reach(served, port)).toBeNull();
    expect(await runtime().reach('nosuchworkload', port)).toBeNull();
    mine.close();
    mine.closeAllConnections();
  });

  test('a group keeps its network until that is removed', async () => {
    const group = { id: newId<string>(), size: 3, ports: [] };
    const [network] = await Promise.all([runtime().groups.ensure(group), runtime().groups.ensure(group)]);
    const again = await runtime().groups.ensure(group);
    const facts = ({ cidr, primary, port, addressOf }: typeof network) => [cidr, primary, port, addressOf(2)];
    expect(facts(again)).toEqual(facts(network));
    if (network.cidr !== null) expect(new Set([0, 1, 2].map(network.addressOf)).size).toBe(3);
    if (network.cidr !== null) expect(await runtime().groups.list()).toEqual([group.id]);
    await runtime().groups.remove(group.id);
    await runtime().groups.remove(group.id);
    expect(await runtime().groups.list()).toEqual([]);
  });

  test('a mounted directory is shared and outlives the workloads', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const directory = mkdtempSync(join(tmpdir(), 'podyard-mount-'));
    const source = (await under().makeStorage?.()) ?? directory;
    const target = `/${newId<string>()}`;
    try {
      for (const [word, said] of Object.entries({ one: 'one', two: 'one,two' })) {
        const env = { WORD: word, RUNPOD_VOLUME_PATH: target };
        const id = await started('store', { env, mounts: [{ source, target }] });
        await lineOf(runtime(), id, (line) => line === said);
        await runtime().stop(id, 0);
      }
      if (source !== directory) return; // the second workload has read what the first one wrote
      expect(readdirSync(source)).toEqual(['words']);
      expect(readFileSync(join(source, 'words'), 'utf8')).toBe('one\ntwo\n');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('a missing mount fails the start with one sentence and leaves nothing behind', async ({ skip }) => {
    skip(!under().isReal, NOTHING_RUNS);
    const source = under().makeStorage ? 'podyard-no-such-storage' : join(tmpdir(), 'podyard-no-such-directory');
    const wanted = spec('idle', { mounts: [{ source, target: '/podyard-test' }] });
    await expect(runtime().start(wanted)).rejects.toThrow(source);
    expect(await runtime().list()).toEqual([]);
  });
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerOf } from '../../../../test/containers/container-engine.ts';
import { docker, engineKind, hasEngine } from '../../../../test/engine.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { WorkloadSpec } from '../../runtime.ts';
import { createDockerRuntime, type EngineRuntime } from '../docker-runtime.ts';
import { buildImage } from '../images/example-images.ts';

/** Its own: servers that run beside this test limit what containers on theirs reach. */
const NETWORK = 'podyard-test';

/** Facts that only a real engine can show. docker-runtime.docker.test.ts reports when there is none. */
describe.skipIf(!hasEngine)('containers of a real engine', () => {
  const installation = newId<string>();
  let runtime: EngineRuntime;

  beforeAll(async () => {
    await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
    runtime = createDockerRuntime({ installation, gpus: new Map(), network: NETWORK, logger: silentLogger });
    await runtime.egress.prepare(); // where the engine does not keep workloads apart, rules do
  });
  afterAll(async () => {
    await Promise.all((await runtime.list()).map(({ id }) => runtime.stop(id, 0)));
    await runtime.close();
    await docker
      .getNetwork(NETWORK)
      .remove()
      .catch(() => {}); // another run may use it
  });

  const program = (code: string, more: Partial<WorkloadSpec> = {}): WorkloadSpec =>
    workloadSpec({ image: 'podyard/echo-js:dev', args: JSON.stringify({ entrypoint: ['node', '-e', code] }), ...more });
  /** Runs to the end and returns the output. */
  const run = async (code: string, more: Partial<WorkloadSpec> = {}) => {
    const spec = program(code, more);
    await runtime.start(spec);
    const lines: string[] = [];
    for await (const { line } of runtime.logs(spec.id, { follow: true, signal: AbortSignal.timeout(60_000) }))
      lines.push(line);
    return { id: spec.id, lines };
  };

  test('a workload that exceeds its memory limit ends with that reason', async () => {
    const { id } = await run('const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));', { memoryBytes: 96 * 2 ** 20 });
    await expect
      .poll(async () => (await runtime.list()).find((one) => one.id === id))
      .toMatchObject({
        state: 'exited',
        exitCode: 137,
        reason: engineKind!.reportsOutOfMemory
          ? 'Out of memory (limit 96 MiB)'
          : 'Killed, probably out of memory (limit 96 MiB)',
      });
  });

  test('the last lines of stderr are known, whatever a workload prints to stdout after them', async () => {
    const code = `for (let n = 1; n <= 30; n++) console.error('oops ' + n);
      setTimeout(() => { for (let n = 1; n <= 500; n++) console.log('closing ' + n); }, 200);`;
    const { id } = await run(code);
    expect(await runtime.lastOutput(id, 3)).toEqual(['oops 28', 'oops 29', 'oops 30']);
    expect(await runtime.lastOutput(id, 100)).toHaveLength(30);
    const quiet = await run("console.log('one'); console.log('two'); console.log('three');");
    expect(await runtime.lastOutput(quiet.id, 2)).toEqual(['two', 'three']);
  });

  test('the memory of a workload is read at once, and is what the engine says a second later', async () => {
    const spec = program('const all = Buffer.alloc(2e8, 1); setInterval(() => all, 1e6); console.log("full")');
    await runtime.start(spec);
    for await (const { line } of runtime.logs(spec.id, { follow: true, signal: AbortSignal.timeout(60_000) }))
      if (line === 'full') break;
    const bytes = await runtime.memoryBytes(spec.id);
    expect(bytes).toBeGreaterThan(2e8);
    const container = await containerOf(installation, spec.id);
    const { memory_stats: memory } = await container.stats({ stream: false });
    const stats = memory.stats as unknown as Record<string, number> | undefined;
    const cache = stats && (stats.total_inactive_file ?? stats.inactive_file ?? 0);
    if (cache !== undefined) expect(bytes / (memory.usage - cache)).toBeCloseTo(1, 1);
    // Podman does not say how much of its figure is page cache, for example of a program's file that was just read.
    else expect(bytes / memory.usage).toBeLessThan(1.05);
    await runtime.stop(spec.id, 0);
  });

  test('a workload reaches the worker API’s address, but no other workload', async () => {
    const { bind, host } = await runtime.workerApiAddress();
    const server = createServer((_, answer) => void answer.end('here'));
    await new Promise<void>((resolve) => server.listen(0, bind, resolve));
    const neighbour = program(
      "require('http').createServer((q, a) => a.end('there')).listen(80, () => console.log('up'))",
    );
    await runtime.start(neighbour);
    for await (const { line } of runtime.logs(neighbour.id, { follow: true, signal: AbortSignal.timeout(60_000) })) {
      if (line === 'up') break;
    }
    const { address } = (await runtime.list()).find(({ id }) => id === neighbour.id)!;
    expect(await (await fetch(`http://${address}/`)).text()).toBe('there');
    const urls = [`http://${host}:${(server.address() as AddressInfo).port}/`, `http://${address}/`];
    const { lines } = await run(
      `Promise.all(${JSON.stringify(urls)}.map((url) => fetch(url, { signal: AbortSignal.timeout(5000) }).then((a) => a.text(), () => 'nothing'))).then((all) => { console.log(all.join()); process.exit(); })`,
    );
    server.close();
    server.closeAllConnections();
    expect(lines).toEqual(['here,nothing']);
  });

  test.each(['pod', 'worker'] as const)(
    'a %s’s HTTP ports are reached over the bridge alone, its TCP ports where they are published',
    async (kind) => {
      const code = `const { createServer } = require('node:http');
      const ports = [8080, 2222];
      const up = () => { if (--left === 0) console.log('up'); };
      let left = ports.length;
      for (const port of ports) createServer((_, answer) => answer.end('port ' + port)).listen(port, '0.0.0.0', up);`;
      const spec = program(code, { kind, ports: ['8080/http', '2222/tcp'] });
      const { publishedPorts } = await runtime.start(spec);
      for await (const { line } of runtime.logs(spec.id, { follow: true, signal: AbortSignal.timeout(60_000) })) {
        if (line === 'up') break;
      }
      const textAt = async (host: string, port: number) => (await fetch(`http://${host}:${port}/`)).text();
      const { host, port } = (await runtime.reach(spec.id, 8080))!;
      expect(await textAt(host, port)).toBe('port 8080');
      const { NetworkSettings } = await (await containerOf(installation, spec.id)).inspect();
      const bindings = Object.values(NetworkSettings.Ports).flatMap((each) => each ?? []);
      const answers = await Promise.all(bindings.map((each) => textAt('127.0.0.1', Number(each.HostPort))));
      expect(answers).toEqual(['port 2222']);
      if (kind === 'pod') expect(publishedPorts[0]).toEqual({ private: 8080, type: 'http', public: null, ip: null });
      await runtime.stop(spec.id, 0);
    },
  );

  test('when the machine runs out of memory, a workload is killed before the server', async () => {
    const { lines } = await run("console.log(require('fs').readFileSync('/proc/self/oom_score_adj', 'utf8').trim())");
    expect(lines).toEqual(['500']);
  });

  test('a workload cannot gain privileges', async () => {
    const { lines } = await run(
      "console.log(require('fs').readFileSync('/proc/self/status', 'utf8').match(/(NoNewPrivs|CapBnd):.*/g).join())",
    );
    const [, capabilities, isBarred] = /CapBnd:\s+(\w+),NoNewPrivs:\s+(\d)|$/.exec(lines[0]!.split(',').sort().join())!;
    expect(isBarred).toBe('1');
    const [setpcap, netRaw, mknod, chown] = [8n, 13n, 27n, 0n].map((bit) => (BigInt(`0x${capabilities}`) >> bit) & 1n);
    expect({ setpcap, netRaw, mknod, chown }).toEqual({ setpcap: 0n, netRaw: 0n, mknod: 0n, chown: 1n });
  });

  test('a workload learns nothing of its neighbors’ ids, neither from their addresses nor from their names', async () => {
    const idle = 'setInterval(() => {}, 1000)';
    const pod = program(idle, { kind: 'pod', ports: ['80/http'] });
    const neighbor = program(idle);
    await Promise.all([runtime.start(pod), runtime.start(neighbor)]);
    const addresses = (await runtime.list()).filter(({ id }) => id === pod.id || id === neighbor.id);
    const { lines } = await run(
      `const { reverse, lookup } = require('dns').promises;
       const ask = (query) => query.then((found) => JSON.stringify(found), (error) => error.code);
       Promise.all([
         ...${JSON.stringify(addresses.map(({ address }) => address))}.map((one) => ask(reverse(one))),
         ...${JSON.stringify([pod.id, neighbor.id])}.map((one) => ask(lookup(one))),
         require('fs').readFileSync('/etc/hosts', 'utf8').replaceAll('\\n', ' '),
       ]).then((all) => { console.log(all.join()); process.exit(); })`,
    );
    expect(lines.join()).toMatch(/podyard/); // the engine did answer with a name
    for (const { id } of [pod, neighbor]) expect(lines.join()).not.toContain(id);
    expect(lines.join()).toMatch(/ENOTFOUND,ENOTFOUND/);
  });

  test('a container that an older version named after its id is renamed, and then run as any other', async ({
    skip,
  }) => {
    skip(!engineKind!.keepsBridges, 'no older version ran with this engine, which does not rename it in its DNS');
    const [running, frozen, ended] = [program('setInterval(() => {}, 1000)'), program(''), program('')] as const;
    for (const { id } of [running, frozen, ended]) {
      const container = await docker.createContainer({
        name: `podyard-${installation}-${id}`,
        Image: 'podyard/echo-js:dev',
        Entrypoint: ['node', '-e', id === ended.id ? '' : 'setInterval(() => {}, 1000)'],
        Labels: { 'podyard.installation': installation, 'podyard.id': id, 'podyard.kind': 'worker' },
        HostConfig: { NetworkMode: NETWORK },
      });
      await container.start();
      if (id === frozen.id) await container.pause();
      if (id === ended.id) await container.wait();
    }
    const states = new Map((await runtime.list()).map(({ id, state }) => [id, state]));
    expect([running, frozen, ended].map(({ id }) => states.get(id))).toEqual(['running', 'frozen', 'exited']);
    const filters = { label: [`podyard.installation=${installation}`] };
    const names = (await docker.listContainers({ all: true, filters })).flatMap(({ Names }) => Names).join();
    for (const { id } of [running, frozen, ended]) expect(names).not.toContain(id);
    const { host } = (await runtime.reach(running.id, 80))!;
    const { lines } = await run(
      `require('dns').promises.reverse('${host}').then((found) => console.log(found.join()))`,
    );
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^podyard-${installation}-[0-9a-f]{16}\\.${NETWORK}$`))]);
    await runtime.thaw(frozen.id);
    await Promise.all([running, frozen, ended].map(({ id }) => runtime.stop(id, 0)));
    const left = (await runtime.list()).map(({ id }) => id);
    expect(left).not.toEqual(expect.arrayContaining([running.id]));
    expect([running, frozen, ended].filter(({ id }) => left.includes(id))).toEqual([]);
  });

  test('an address does not pass from one workload to the next', async () => {
    const addresses: (string | null)[] = [];
    for (let i = 0; i < 4; i++) {
      const spec = program('setInterval(() => {}, 1000)');
      addresses.push((await runtime.start(spec)).address);
      await runtime.stop(spec.id, 0);
    }
    expect(new Set(addresses).size).toBe(4);
  });

  test('an address or port already in use costs only another try', async () => {
    const specs = Array.from({ length: 6 }, () => program('setInterval(() => {}, 1000)', { ports: ['80/tcp'] }));
    const first = (await runtime.start(specs[0]!)).address!;
    const [a, b, c, d] = first.split('.').map(Number) as [number, number, number, number];
    const next = d === 255 ? `${a}.${b}.${c + 1}.0` : `${a}.${b}.${c}.${d + 1}`;
    const stranger = await docker.createContainer({
      Image: 'podyard/echo-js:dev',
      Entrypoint: ['node', '-e', 'setInterval(() => {}, 1000)'],
      HostConfig: { NetworkMode: NETWORK },
      NetworkingConfig: { EndpointsConfig: { [NETWORK]: { IPAMConfig: { IPv4Address: next } } } },
    });
    await stranger.start();
    const others = await Promise.all(specs.slice(1).map((spec) => runtime.start(spec)));
    expect(others.map(({ address }) => address)).not.toContain(next);
    expect(new Set([first, ...others.map(({ address }) => address)]).size).toBe(6);
    await stranger.remove({ force: true });
  });

  test('a container that was created but never started, as after a kill, is started', async () => {
    const spec = program('setInterval(() => {}, 1000)');
    await docker.createContainer({
      name: `podyard-${installation}-${spec.id}`,
      Image: spec.image,
      Labels: { 'podyard.installation': installation, 'podyard.id': spec.id, 'podyard.kind': 'worker' },
    });
    expect(await runtime.list()).toContainEqual(
      expect.objectContaining({ id: spec.id, state: 'created', startedAt: null }),
    );
    await runtime.start(spec);
    expect(await runtime.list()).toContainEqual(expect.objectContaining({ id: spec.id, state: 'running' }));
  });
});

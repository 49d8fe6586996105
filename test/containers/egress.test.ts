import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type EgressSettings, parseEgress } from '../../src/config/egress.ts';
import { newId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Engine } from '../../src/engine/engine.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import { removeKeeper } from '../../src/runtimes/docker/network/bridge-keeper.ts';
import { interfaceOf } from '../../src/runtimes/docker/network/bridge-network.ts';
import { bridgeKeyOf } from '../../src/runtimes/docker/network/egress-rules.ts';
import { readFirewall, runDirectly, runInContainer } from '../../src/runtimes/docker/network/firewall.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { WebClient } from '../e2e/web-load.ts';
import { workloadSpec } from '../workload-spec.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';
import { canChangeNetwork, OtherMachine } from './network-namespace.ts';

const docker = new Docker();
/** Documentation addresses, which are the internet here; a private network's; a link-local one. */
const [INTERNET, PRIVATE, LINK_LOCAL] = [`203.0.113.${host()}`, `10.213.47.${host()}`, `169.254.77.${host()}`];
const IDLE = {
  image: 'podyard/echo-js:dev',
  args: JSON.stringify({ entrypoint: ['node', '-e', 'setInterval(() => {}, 1e6)'] }),
};

if (!canChangeNetwork() && process.env.CI === 'true') {
  test('the tests may change the network', () => expect.fail('with CI=true these tests need root, ip and iptables'));
}

function host(): number {
  return 1 + Math.floor(Math.random() * 250);
}

describeWithEngine('egress', () => {
  if (!canChangeNetwork()) return test.skip('no right to change the network');
  let machine: OtherMachine;
  /** A service of this machine other than worker APIs. */
  let service: Server;
  /** A container of somebody else that the machine publishes on a port. */
  let published: Docker.Container;
  const base = `podyard-t${newId<string>(6)}`;
  const opened: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    await needExampleImages();
    machine = await OtherMachine.start([INTERNET, PRIVATE, LINK_LOCAL]);
    service = await listen();
    published = await publish();
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  afterAll(async () => {
    service?.close();
    await machine?.dispose();
    await published?.remove({ force: true });
    for (const { Id, Name } of await docker.listNetworks()) {
      if (!Name.startsWith(base)) continue;
      await removeKeeper(new Engine(undefined), Name);
      await docker.getNetwork(Id).remove();
    }
  });

  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  /** Opens a runtime as a server does, with its guard started and a worker API. `close` ends all, as a server does. */
  const open = async (settings: EgressSettings, installation = newId<string>(10)) => {
    const runtime = createDockerRuntime({
      installation,
      gpus: new Map(),
      network: base,
      egress: settings,
      logger: silentLogger,
    });
    const { host: gateway } = await runtime.workerApiAddress();
    const workerApi = await listen();
    await runtime.egress.prepare();
    await runtime.egress.moveWorkloads();
    await runtime.egress.start({ host: gateway, port: portOf(workerApi) });
    const close = async () => {
      for (const { id } of await runtime.list()) await runtime.stop(id, 0);
      workerApi.close();
      await runtime.close();
    };
    const known = { runtime, gateway, installation, api: `${gateway}:${portOf(workerApi)}`, close };
    opened.push(known);
    return known;
  };
  type Opened = Awaited<ReturnType<typeof open>>;
  /** Returns the addresses that a container that starts now reaches. */
  const reachOf = async (server: Opened) => {
    const spec = workloadSpec(IDLE);
    await server.runtime.start(spec);
    return reachFrom(server, spec.id);
  };
  const reachFrom = async ({ gateway, installation, api }: Opened, id: string) => {
    const container = await containerOf(installation, id);
    const own = portOf(service);
    const targets = {
      workerApi: api,
      service: `${gateway}:${own}`,
      serviceElsewhere: `${addressOfMachine()}:${own}`,
      published: `${addressOfMachine()}:${await publishedPort(published)}`,
      internet: `${INTERNET}:80`,
      private: `${PRIVATE}:80`,
      linkLocal: `${LINK_LOCAL}:80`,
    };
    const seen = await Promise.all(
      Object.entries(targets).map(async ([name, at]) => [name, await dial(container, at)]),
    );
    return Object.fromEntries(seen) as Record<keyof typeof targets, boolean>;
  };
  const LAN = {
    workerApi: true,
    service: false,
    serviceElsewhere: false,
    published: false,
    internet: true,
    private: true,
    linkLocal: false,
  };

  test('lan: the internet, private networks and the worker API, but neither other services of the machine nor link-local addresses', async () => {
    expect(await reachOf(await open(parseEgress('lan', undefined)))).toEqual(LAN);
  });

  test('internet: private networks are closed, except those allowed', async () => {
    expect(await reachOf(await open(parseEgress('internet', undefined)))).toEqual({ ...LAN, private: false });
    const allowed = parseEgress('internet', `${PRIVATE}:80,${addressOfMachine()}/32,${LINK_LOCAL}`);
    expect(await reachOf(await open(allowed))).toEqual({ ...LAN, serviceElsewhere: true, published: true });
    expect(await reachOf(await open(parseEgress('internet', `${PRIVATE}:81`)))).toEqual({ ...LAN, private: false });
  });

  test('all: everything', async () => {
    const everything = Object.fromEntries(Object.keys(LAN).map((name) => [name, true]));
    expect(await reachOf(await open(parseEgress('all', undefined)))).toEqual(everything);
  });

  test('a changed setting applies to containers that run already, frozen ones too', async () => {
    const before = await open(parseEgress('all', undefined));
    const [spec, frozen, cut] = [workloadSpec(IDLE), workloadSpec(IDLE), workloadSpec(IDLE)];
    for (const one of [spec, frozen, cut]) await before.runtime.start(one);
    await before.runtime.freeze(frozen.id);
    const halfMoved = await containerOf(before.installation, cut.id); // as by a server that was killed meanwhile
    await docker.getNetwork(`${base}-all`).disconnect({ Container: halfMoved.id });
    const after = await open(parseEgress('internet', undefined), before.installation);
    await after.runtime.thaw(frozen.id);
    for (const { id } of [spec, frozen, cut]) {
      expect(await reachFrom(after, id)).toEqual({ ...LAN, private: false });
    }
    expect((await after.runtime.list()).map(({ address }) => address)).not.toContain(null);
  });

  test('rules that something else removed are back soon', async () => {
    const server = await open(parseEgress('lan', undefined));
    const { chains, hooks } = await ownRules(base);
    for (const hook of hooks) execFileSync('iptables', ['-w', '10', ...hook.replace('-A', '-D').split(' ')]);
    execFileSync('iptables', ['-w', '10', '-F', chains[0]!]);
    await until('the rules are back', async () => (await ownRules(base)).hooks.length === hooks.length);
    expect(await reachOf(server)).toEqual(LAN);
  });

  test('two servers share a bridge; each opens its own worker API, and the last one that ends removes the rules', async () => {
    const [one, other] = [await open(parseEgress('lan', undefined)), await open(parseEgress('lan', undefined))];
    const apis = async () => (await ownRules(base)).lines.filter((line) => line.includes('podyard-api-'));
    expect(await apis()).toHaveLength(2);
    expect(await reachOf(one)).toEqual(LAN);
    opened.splice(0);
    await one.close();
    expect(await apis()).toHaveLength(1);
    expect(await reachOf(other)).toEqual(LAN);
    await other.close();
    expect((await ownRules(base)).lines).toEqual([]);
  });

  test('a server without rights reads and sets rules with a container of the engine', async () => {
    const engine = new Engine(undefined);
    const run = runInContainer(engine);
    const chain = `PODYARD-T-${newId<string>(6)}`;
    await run(`printf '*filter\\n-N ${chain}\\nCOMMIT\\n' | iptables-restore -w 10 --noflush`);
    try {
      expect((await readFirewall(run))[4]).toContain(`-N ${chain}`);
      expect((await readFirewall(runDirectly))[4]).toContain(`-N ${chain}`);
      await expect(run('echo wrong >&2; exit 3')).rejects.toThrow('wrong');
    } finally {
      await run(`iptables -w 10 -X ${chain}`);
      await engine.close();
    }
    const filters = { label: ['podyard.host-command'] };
    expect(await docker.listContainers({ all: true, filters })).toEqual([]);
  });

  test('what a dead server left is removed by the next one', async () => {
    const dead = await open(parseEgress('lan', undefined));
    const left = (await ownRules(base)).lines.find((line) => line.includes(dead.installation))!;
    const gone = left.replace(dead.installation, 'gone').replace(/--dport \d+/, '--dport 1');
    execFileSync('iptables', [
      '-w',
      '10',
      ...gone
        .replace(/^-A (\S+)/, '-I $1 1')
        .replaceAll('"', '')
        .split(' '),
    ]);
    const [unused] = ['PODYARD-HOST-0123456789ab'];
    execFileSync('iptables', ['-w', '10', '-N', unused!]);
    await open(parseEgress('lan', undefined));
    expect((await ownRules(base)).lines.join()).not.toContain('podyard-api-gone');
    expect(rules().join()).not.toContain(unused);
  });

  test('workers and load-balancing workers of a server keep working under another setting', async () => {
    const env: Record<string, string> = { PODYARD_EGRESS: 'lan' };
    const server = await ServerProcess.start({ runtime: 'docker', env });
    const api = new Api(server);
    try {
      const queue = await api.createEndpoint({ workers: { min: 1, max: 1 } });
      const web = await api.createEndpoint({
        type: 'LOAD_BALANCING',
        image: 'podyard/web-js:dev',
        workers: { min: 1, max: 1 },
      });
      const client = new WebClient(server, web);
      expect(await api.runToEnd(queue, { echo: 'before' })).toMatchObject({ status: 'COMPLETED' });
      expect(await client.get('/')).toMatchObject({ status: 200 });
      const before = [await api.workers(queue), await api.workers(web)].flat().map(({ id }) => id);
      await server.stop();
      env.PODYARD_EGRESS = 'internet';
      await server.start();
      expect(server.stderr).toContain('workload moved to another network');
      expect(await api.runToEnd(queue, { echo: 'after' })).toMatchObject({ status: 'COMPLETED', output: 'after' });
      expect(await client.get('/')).toMatchObject({ status: 200 });
      const after = [await api.workers(queue), await api.workers(web)].flat().map(({ id }) => id);
      expect(after).toEqual(before);
      client.close();
      for (const id of [queue, web]) await api.delete(id);
      await until('the workers are gone', async () => (await server.listWorkloads()).length === 0);
      await server.stop();
      // Another file's server may have workloads on the network of that name.
      const [left] = await docker.listNetworks({ filters: { name: ['^podyard-internet$'] } });
      if (left)
        expect(await docker.listContainers({ filters: { network: [left.Id], label: ['podyard.id'] } })).not.toEqual([]);
    } finally {
      await server.dispose();
    }
  });

  /** Chains, hooks and all lines of rules about the test's networks. */
  const ownRules = async (name: string) => {
    const ids = (await docker.listNetworks())
      .filter(({ Name }) => Name.startsWith(name))
      .map(({ Id, Options, Labels }) =>
        bridgeKeyOf(interfaceOf({ Id, Options: Options ?? null, Labels: Labels ?? null })),
      );
    const lines = rules().filter((line) => ids.some((id) => line.includes(id)));
    const named = lines.filter((line) => line.startsWith('-N PODYARD-')).map((line) => line.slice(3));
    return {
      lines: lines.filter((line) => line.includes('PODYARD-')),
      chains: named,
      hooks: lines.filter((line) => /^-A (INPUT|DOCKER-USER|FORWARD) .*-j PODYARD-/.test(line)),
    };
  };
});

function rules(): string[] {
  return execFileSync('iptables', ['-w', '10', '-S'], { encoding: 'utf8' }).split('\n');
}

async function publish(): Promise<Docker.Container> {
  const code = "require('http').createServer((q, a) => a.end('there')).listen(80, '0.0.0.0')";
  const container = await docker.createContainer({
    Image: IDLE.image,
    Entrypoint: ['node', '-e', code],
    ExposedPorts: { '80/tcp': {} },
    HostConfig: { PortBindings: { '80/tcp': [{ HostIp: '0.0.0.0' }] } },
  });
  await container.start();
  return container;
}

async function publishedPort(container: Docker.Container): Promise<string> {
  return (await container.inspect()).NetworkSettings.Ports['80/tcp']![0]!.HostPort;
}

async function listen(): Promise<Server> {
  const server = createServer((_, response) => response.end('here')).listen(0, '0.0.0.0');
  await once(server, 'listening');
  return server;
}

/** The address of this machine on its way to elsewhere. */
function addressOfMachine(): string {
  const route = execFileSync('ip', ['-4', 'route', 'get', '198.18.0.1'], { encoding: 'utf8' });
  return /src (\S+)/.exec(route)![1]!;
}

async function containerOf(installation: string, id: string): Promise<Docker.Container> {
  const label = [`podyard.installation=${installation}`, `podyard.id=${id}`];
  const [found] = await docker.listContainers({ filters: { label } });
  return docker.getContainer(found!.Id);
}

/** True when a connection from the container gets through. */
async function dial(container: Docker.Container, target: string): Promise<boolean> {
  const [address, port] = target.split(':');
  const code = `const s = require('net').connect({ host: '${address}', port: ${port}, timeout: 3000 }); s.on('connect', () => process.exit(0)).on('timeout', () => process.exit(2)).on('error', () => process.exit(1));`;
  const exec = await container.exec({ Cmd: ['node', '-e', code], AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({});
  stream.resume();
  await once(stream, 'end');
  const { ExitCode } = await exec.inspect();
  if (ExitCode === 2) throw new Error(`${target} neither answers nor refuses`);
  return ExitCode === 0;
}

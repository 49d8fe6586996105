import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort, KEY, startPodyard } from '../queue/podyard.ts';
import { query } from '../queue/postgres.ts';
import { type Program, startProgram } from '../queue/program.ts';

/** A system under test. All get the same headers. */
export interface Subject {
  name: string;
  /** The process whose CPU and memory are measured; the upstream's for `direct`. */
  pid: number;
  /** Routes to the upstream that responds at once, and to the one with more functions. */
  quick: Target;
  rich: Target;
  stop(): Promise<void>;
}

export interface Target {
  port: number;
  host: string;
}

export interface Upstreams {
  quick: number;
  rich: number;
  pid: number;
  stop(): Promise<void>;
}

const UPSTREAM = fileURLToPath(new URL('./upstream.ts', import.meta.url));
const WORKERS = 4;
const HOST = 'bench.localhost';

/** Starts an nginx that serves from memory, and a Node server for bodies, delays and upgrades. */
export async function startUpstreams(dir: string): Promise<Upstreams> {
  const [quick, rich] = [await findFreePort(), await findFreePort()];
  const nginx = await startNginx(
    dir,
    'upstream',
    `server { listen 127.0.0.1:${quick} backlog=4096; location / { default_type text/plain; return 200 "Hello from the upstream.\\n"; } }`,
  );
  const node = await startProgram({
    command: process.execPath,
    args: [UPSTREAM, String(rich)],
    ready: /(upstream at)/,
  });
  return {
    quick,
    rich,
    pid: nginx.pid,
    stop: async () => {
      await nginx.stop();
      await node.stop();
    },
  };
}

export function startDirect(upstreams: Upstreams): Subject {
  const to = (port: number): Target => ({ port, host: HOST });
  return {
    name: 'direct',
    pid: upstreams.pid,
    quick: to(upstreams.quick),
    rich: to(upstreams.rich),
    stop: async () => {},
  };
}

/** The peers process requests as Podyard's proxy does, as far as their configuration allows; without keys and accounts. */
export async function startPeer(name: 'nginx' | 'caddy' | 'haproxy', dir: string, up: Upstreams): Promise<Subject> {
  const [quick, rich] = [await findFreePort(), await findFreePort()];
  const program = await { nginx: nginxProxy, caddy, haproxy }[name](dir, [
    [quick, up.quick],
    [rich, up.rich],
  ]);
  const to = (port: number): Target => ({ port, host: HOST });
  return { name, pid: program.pid, quick: to(quick), rich: to(rich), stop: program.stop };
}

type Routes = [from: number, to: number][];

function nginxProxy(dir: string, routes: Routes): Promise<Program> {
  const servers = routes.map(
    ([from, to]) => `upstream u${to} { server 127.0.0.1:${to}; keepalive 512; keepalive_requests 1000000000; }
      server { listen 127.0.0.1:${from} backlog=4096; client_max_body_size 0; location / {
        proxy_pass http://u${to}; proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering on;
        proxy_max_temp_file_size 0; proxy_read_timeout 600s;
        proxy_set_header Host $host; proxy_set_header Connection $connection_upgrade; proxy_set_header Upgrade $http_upgrade;
        proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Host $host; } }`,
  );
  const map = 'map $http_upgrade $connection_upgrade { default upgrade; "" ""; }';
  return startNginx(dir, 'proxy', `${map}\n${servers.join('\n')}`);
}

async function startNginx(dir: string, name: string, http: string): Promise<Program> {
  const home = join(dir, `nginx-${name}`);
  await mkdir(home, { recursive: true });
  const conf = join(home, 'nginx.conf');
  await writeFile(
    conf,
    `daemon off; worker_processes 1; pid ${home}/pid; error_log stderr notice; worker_rlimit_nofile 65536;
     events { worker_connections 16384; }
     http { access_log off; keepalive_requests 1000000000; ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
       .map((kind) => `${kind}_temp_path ${home}/${kind};`)
       .join(' ')} ${http} }`,
  );
  return startProgram({ command: 'nginx', args: ['-c', conf, '-e', 'stderr'], ready: /(start worker process )/ });
}

async function caddy(dir: string, routes: Routes): Promise<Program> {
  const file = join(dir, 'Caddyfile');
  const sites = routes.map(([from, to]) => `http://:${from} {\n bind 127.0.0.1\n reverse_proxy 127.0.0.1:${to}\n}`);
  await writeFile(file, `{\n admin off\n auto_https off\n}\n${sites.join('\n')}\n`);
  return startProgram({
    command: 'caddy',
    args: ['run', '--config', file, '--adapter', 'caddyfile'],
    env: { GOMAXPROCS: '1', HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir },
    ready: /(serving initial configuration)/,
  });
}

async function haproxy(dir: string, routes: Routes): Promise<Program> {
  const file = join(dir, 'haproxy.cfg');
  const sites = routes.map(
    ([from, to]) => `frontend f${from}\n bind 127.0.0.1:${from} backlog 4096\n default_backend b${to}
backend b${to}\n http-reuse always\n option forwardfor\n server s 127.0.0.1:${to}`,
  );
  await writeFile(
    file,
    `global\n nbthread 1\n maxconn 8000\ndefaults\n mode http\n timeout connect 5s\n timeout client 600s\n timeout server 600s
 timeout tunnel 600s\n${sites.join('\n')}\n`,
  );
  return startProgram({
    command: 'haproxy',
    args: ['-f', file, '-V', '-db'],
    ready: /(Using epoll)/,
  });
}

/** Podyard's load-balancing path: key, account, balancing over four workers, which are rows that point at the upstream. */
export async function startProxiedPodyard(options: {
  dir: string;
  databaseUrl: string;
  upstreams: Upstreams;
  nodeArgs: string[];
  /** How many processes serve the port; default: one. */
  dataProcesses?: number;
}): Promise<Subject> {
  const { dir, databaseUrl, upstreams, nodeArgs, dataProcesses } = options;
  const podyard = await startPodyard({ dataDir: dir, databaseUrl, nodeArgs, ...(dataProcesses && { dataProcesses }) });
  const port = Number(new URL(podyard.clientUrl).port);
  const endpoint = async (to: number): Promise<Target> => {
    const response = await fetch(`${podyard.clientUrl}/v2/serverless`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: `to ${to}`,
        type: 'LOAD_BALANCING',
        image: 'bench/web:1',
        gpu: { pools: ['ADA_24'] },
      }),
    });
    if (response.status !== 201) throw new Error(`create endpoint: ${response.status} ${await response.text()}`);
    const { id } = (await response.json()) as { id: string };
    await query(
      databaseUrl,
      `insert into workers (id, endpoint_id, endpoint_type, user_id, version, wanted, wanted_reason, phase, token_hash, spec,
         ready_at, serving_at, serving_host, serving_port)
       select e.id || n, e.id, e.type, e.user_id, e.version, 'RUN', 'bench', 'RUNNING', null, '{}', now(), now(), '127.0.0.1', $2
       from endpoints e, generate_series(1, $3::integer) n where e.id = $1`,
      [id, to, WORKERS],
    );
    return { port, host: `${id}.localhost` };
  };
  return {
    name: dataProcesses ? `podyard x ${dataProcesses}` : 'podyard',
    pid: podyard.pid,
    quick: await endpoint(upstreams.quick),
    rich: await endpoint(upstreams.rich),
    stop: podyard.stop,
  };
}

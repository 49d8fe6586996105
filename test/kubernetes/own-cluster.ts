import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';

const run = promisify(execFile);
const KUBE_UP = new URL('kube-up.sh', import.meta.url).pathname;
const KUBE_DOWN = new URL('kube-down.sh', import.meta.url).pathname;
/** The name of the node that kube-up.sh adds. */
export const SECOND_NODE = 'node2';

/** The folder with the data, keys and logs of this machine's cluster. */
export const STATE = process.env.KUBE_STATE ?? '/var/tmp/kube-one';

/** Returns why this machine cannot run a cluster; undefined when it can. */
export function lacking(): string | undefined {
  const lacks =
    process.platform === 'linux' ? execFileSync(KUBE_UP, ['--check'], { encoding: 'utf8' }).trim() : 'Linux';
  return lacks === '' ? undefined : `a cluster of the tests' own needs ${lacks}`;
}

/** Starts the cluster for the process `user` unless it runs, and imports the archives. Returns the path of its kubeconfig. */
export async function kubeUp(user: number, archives: string[] = []): Promise<string> {
  const { stdout } = await run(KUBE_UP, archives, { env: { ...process.env, KUBE_FOR: String(user) } });
  return stdout.trim();
}

/** Runs kube-down.sh. */
export async function kubeDown(option: string): Promise<void> {
  await run(KUBE_DOWN, [option]);
}

/** Imports an image of the container engine unless the cluster has the same one. */
export async function importImage(user: number, name: string): Promise<void> {
  const { Id } = await new Docker().getImage(name).inspect();
  const note = join(STATE, 'imported', name.replaceAll('/', '_'));
  if ((await readFile(note, 'utf8').catch(() => '')) === Id) return;
  await withArchives([name], (archives) => kubeUp(user, archives));
  await mkdir(join(STATE, 'imported'), { recursive: true });
  await writeFile(note, Id);
}

/** Adds the second node with these images of the container engine. Returns the folder that is its /srv. */
export async function addRealNode(images: string[]): Promise<string> {
  await withArchives(images, (archives) => run(KUBE_UP, ['--add-node', ...archives]));
  return join(STATE, SECOND_NODE, 'srv');
}

async function withArchives<T>(names: string[], use: (archives: string[]) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-images-'));
  try {
    const archives = names.map((_, i) => join(folder, `${i}.tar`));
    for (const [i, name] of names.entries()) await writeFile(archives[i]!, await new Docker().getImage(name).get());
    return await use(archives);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns this machine's address on the route to a server, where pods can reach it too. */
export async function addressTowards(server: string): Promise<string> {
  const { hostname, port } = new URL(server);
  const socket = connect(Number(port || 443), hostname);
  try {
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return socket.localAddress!;
  } finally {
    socket.destroy();
  }
}

/** Returns the process id of a program of our cluster. */
export async function findProgram(name: string): Promise<number> {
  const init = (await readFile(join(STATE, 'pid'), 'utf8')).trim();
  const namespace = await readlink(`/proc/${init}/ns/pid`);
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const comm = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (comm.trim() !== name.slice(0, 15)) continue;
    if ((await readlink(`/proc/${pid}/ns/pid`).catch(() => '')) === namespace) return Number(pid);
  }
  throw new Error(`${name} does not run`);
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../release/release-facts.ts';
import { until } from '../e2e/api.ts';

const run = promisify(execFile);
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const INIT = 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm; touch /run/is-up; sleep infinity & wait';
/** Run in namespaces of its own, in the folder above `root`: boots systemd, which needs its control groups and some mounts. */
const BOOT = `set -e
  mount -t sysfs sysfs root/sys
  mount -t tmpfs tmpfs root/sys/fs/cgroup
  mkdir root/sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd none root/sys/fs/cgroup/systemd 2>/dev/null || mount -t cgroup2 none root/sys/fs/cgroup
  for place in run tmp dev/shm; do mount -t tmpfs -o mode=1777 tmpfs root/$place; done
  exec chroot root env -i container=lxc PATH=${PATH} /lib/systemd/systemd`;

export interface Outcome {
  /** Null: killed. */
  code: number | null;
  stdout: string;
  /** Both streams, as they came. */
  output: string;
}

/**
 * A machine for an installer: a tree of Debian in namespaces of its own, without a network but loopback, in memory. Either
 * `boot` runs its systemd, or a stand-in runs the service (test/stand-ins/systemctl), unless `hasSystemd` is false.
 */
export class Machine {
  readonly root: string;
  readonly #home: string;
  readonly #init: ChildProcess;
  readonly #pid: string;

  /** `layers`: folders that are laid over the tree of Debian, the first on top. */
  static async start(debian: string, layers: string[], { hasSystemd = true } = {}): Promise<Machine> {
    const home = await Machine.#assemble(debian, layers);
    const root = `${home}/root`;
    await mkdir(`${root}/run${hasSystemd ? '/systemd/system' : ''}`, { recursive: true });
    if (hasSystemd) await cp(`${ROOT}/test/stand-ins/systemctl`, `${root}/usr/local/bin/systemctl`);
    const flags = ['--mount', '--net', '--pid', '--fork', '--kill-child', `--mount-proc=${root}/proc`];
    const init = spawn('unshare', [...flags, 'chroot', root, 'sh', '-c', INIT], { stdio: 'ignore' });
    await until('the machine is up', async () => existsSync(`${root}/run/is-up`));
    return Machine.#enter(home, init);
  }

  /** Boots the systemd of the tree. */
  static async boot(debian: string, layers: string[]): Promise<Machine> {
    const home = await Machine.#assemble(debian, layers);
    const flags = ['--mount', '--net', '--pid', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child'];
    const enterGroup = `mkdir -p "$1" && echo $$ >"$1/cgroup.procs"; shift; exec "$@"`;
    const init = spawn(
      'sh',
      [
        '-c',
        enterGroup,
        'sh',
        controlGroupOf(home),
        'unshare',
        ...flags,
        `--mount-proc=${home}/root/proc`,
        'sh',
        '-c',
        BOOT,
      ],
      { stdio: 'ignore', cwd: home },
    );
    await until('systemd is started', async () => (await childOf(init)) !== '');
    const machine = await Machine.#enter(home, init);
    await until('systemd is up', async () => {
      const { stdout } = await machine.run(['systemctl', 'is-system-running']);
      return ['running', 'degraded'].includes(stdout.trim());
    });
    return machine;
  }

  static async #assemble(debian: string, layers: string[]): Promise<string> {
    const home = await mkdtemp(join(tmpdir(), 'podyard-machine-'));
    await run('mount', ['-t', 'tmpfs', '-o', 'size=4g,mode=755', 'tmpfs', home]);
    for (const folder of ['upper', 'work', 'root']) await mkdir(join(home, folder));
    const lower = [...layers, debian].join(':');
    const options = `lowerdir=${lower},upperdir=${home}/upper,workdir=${home}/work`;
    await run('mount', ['-t', 'overlay', '-o', options, 'overlay', `${home}/root`]);
    await rm(`${home}/root/run`, { recursive: true, force: true }); // of a layer
    await mkdir(`${home}/root/run`);
    return home;
  }

  static async #enter(home: string, init: ChildProcess): Promise<Machine> {
    const pid = await childOf(init);
    await run('nsenter', ['--net', `--target=${pid}`, 'ip', 'link', 'set', 'lo', 'up']);
    return new Machine(home, init, pid);
  }

  private constructor(home: string, init: ChildProcess, pid: string) {
    this.#home = home;
    this.root = `${home}/root`;
    this.#init = init;
    this.#pid = pid;
  }

  /** The files written since the start, as a layer for other machines; complete once this one is `halt`ed. */
  get layer(): string {
    return `${this.#home}/upper`;
  }

  /** Connects it to a network in which nobody answers, name servers included. */
  async connectToNobody(): Promise<void> {
    const script = `ip link add nobody0 type veth peer name nobody1
      sysctl -q -w net.ipv6.conf.nobody0.disable_ipv6=1 net.ipv6.conf.nobody1.disable_ipv6=1
      ip link set nobody1 up; ip link set nobody0 up; ip address add 192.0.2.1/24 dev nobody0
      ip neighbour add 192.0.2.254 lladdr 02:00:00:00:00:01 dev nobody0; ip route add default via 192.0.2.254`;
    await run('nsenter', ['--net', `--target=${this.#pid}`, 'sh', '-e', '-c', script]);
    await writeFile(`${this.root}/etc/resolv.conf`, 'nameserver 192.0.2.254\n');
  }

  /** Returns how many packets it has sent there. */
  async packetsSent(): Promise<number> {
    const { stdout } = await run('nsenter', [
      '--net',
      `--target=${this.#pid}`,
      'ip',
      '-s',
      '-j',
      'link',
      'show',
      'nobody0',
    ]);
    return JSON.parse(stdout)[0].stats64.tx.packets;
  }

  /** Runs a program as root. Never throws because of its status. */
  async run(command: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
    const variables = Object.entries({ PATH, HOME: '/root', ...env }).map(([name, value]) => `${name}=${value}`);
    const enter = ['--mount', '--net', '--pid', '--root', '--wd', `--target=${this.#pid}`];
    const child = spawn('nsenter', [...enter, 'env', '-i', ...variables, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own, which a test may kill
    });
    const outcome: Outcome = { code: null, stdout: '', output: '' };
    child.stdout.on('data', (chunk) => {
      outcome.stdout += chunk;
      outcome.output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      outcome.output += chunk;
    });
    const [code] = await once(child, 'close');
    return { ...outcome, code };
  }

  sh(script: string, env?: Record<string, string>): Promise<Outcome> {
    return this.run(['sh', '-c', script], env);
  }

  read(path: string): Promise<string> {
    return readFile(this.root + path, 'utf8');
  }

  has(path: string): boolean {
    return existsSync(this.root + path);
  }

  /** Ends every process, as a power cut does. */
  async halt(): Promise<void> {
    if (this.#init.exitCode !== null || this.#init.signalCode !== null) return;
    const ended = once(this.#init, 'exit');
    process.kill(Number(this.#pid), 'SIGKILL'); // and so all in its namespace, for which the kernel waits
    await ended;
  }

  async remove(): Promise<void> {
    await this.halt();
    for (const place of [`${this.root}/proc`, this.root, this.#home]) {
      await run('umount', ['--lazy', place]).catch(() => {}); // /proc is mounted in the namespace alone
    }
    await rm(this.#home, { recursive: true, force: true });
    const groups = controlGroupOf(this.#home);
    if (existsSync(groups)) await run('find', [groups, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', '+']);
  }
}

/** Returns the first process in the namespaces; empty until `unshare` has made them. */
async function childOf({ pid }: ChildProcess): Promise<string> {
  if ((await readFile(`/proc/${pid}/comm`, 'utf8')) !== 'unshare\n') return '';
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
}

/** A control group of systemd's own hierarchy, or of the only one. */
function controlGroupOf(home: string): string {
  const own = '/sys/fs/cgroup/systemd';
  return join(existsSync(own) ? own : '/sys/fs/cgroup', basename(home));
}

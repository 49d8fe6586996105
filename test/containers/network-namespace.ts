import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { newId } from '../../src/core/ids.ts';

/** True where this process may make network namespaces and firewall rules, and has the programs for it. */
export function canChangeNetwork(): boolean {
  try {
    execFileSync('sh', ['-c', 'ip netns list && iptables -w 10 -S >/dev/null'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

/** Stands in for other machines: a network namespace with the given addresses, each of them answers `there` on port 80. */
export class OtherMachine {
  readonly #name: string;
  readonly #server: ChildProcess;

  static async start(addresses: readonly string[]): Promise<OtherMachine> {
    const name = `py${newId<string>(8)}`;
    const near = `${name}a`;
    const [a, b] = [Math.floor(Math.random() * 250), Math.floor(Math.random() * 63) * 4];
    const [here, there] = [`198.51.${a}.${b + 1}`, `198.51.${a}.${b + 2}`];
    run(`ip netns add ${name}`);
    run(`ip link add ${near} type veth peer name eth0 netns ${name}`);
    run(`ip addr add ${here}/30 dev ${near} && ip link set ${near} up`);
    run(`ip -n ${name} addr add ${there}/30 dev eth0 && ip -n ${name} link set eth0 up`);
    run(`ip -n ${name} link set lo up && ip -n ${name} route add default via ${here}`);
    for (const address of addresses) {
      run(`ip -n ${name} addr add ${address}/32 dev lo && ip route add ${address}/32 via ${there}`);
    }
    const code =
      "require('http').createServer((q, a) => a.end('there')).listen(80, '0.0.0.0', () => console.log('up'))";
    const server = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(server.stdout, 'data');
    return new OtherMachine(name, server);
  }

  private constructor(name: string, server: ChildProcess) {
    this.#name = name;
    this.#server = server;
  }

  /** Also removes the routes: they end with their interface. */
  async dispose(): Promise<void> {
    const ended = once(this.#server, 'exit');
    this.#server.kill('SIGKILL');
    await ended;
    run(`ip netns del ${this.#name}`);
  }
}

function run(script: string): void {
  execFileSync('sh', ['-ec', script], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/**
 * The firewall of the engine's machine, read and changed by commands that need the right to change its network. A server that has that right runs them itself.
 * One that has not (in a container, or as a user of the engine's group) has the engine run them, with the machine's own
 * programs, in a container that lives for a moment: access to the engine is equivalent to root anyway.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import type { Engine } from '../../../engine/engine.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import { importImage } from '../images/import-image.ts';
import { readContainerLogs } from '../streams/container-logs.ts';
import type { Family } from './egress-rules.ts';

/** The rules of the `filter` table, as `iptables -S` prints them. */
export interface FirewallRules {
  4: readonly string[];
  /** Null where the machine has no ip6tables. */
  6: readonly string[] | null;
  /** The rules for IPv4 also see what passes on a bridge, from one container to another. */
  filtersBridges: boolean;
}

const WAIT_SECONDS = 10;
const BOUNDARY = '# IPv6';
const NONE = '# none';
const FILTERS_BRIDGES = '# bridges 1';
const READ = `iptables -w ${WAIT_SECONDS} -S && echo '${BOUNDARY}' && { ip6tables -w ${WAIT_SECONDS} -S 2>/dev/null || echo '${NONE}'; } &&
  echo "# bridges $(cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null)"`;
const RESTORE: Record<Family, string> = { 4: 'iptables-restore', 6: 'ip6tables-restore' };

/** Rejects with the machine's own words. */
export async function readFirewall(run: RunOnHost): Promise<FirewallRules> {
  const lines = (await run(READ)).split('\n').map((line) => line.trim());
  const boundary = lines.indexOf(BOUNDARY);
  if (boundary === -1) throw new Error(`iptables printed something unexpected: ${lines[0] ?? ''}`);
  const isRule = (line: string) => line.startsWith('-');
  const rest = lines.slice(boundary + 1);
  return {
    4: lines.slice(0, boundary).filter(isRule),
    6: rest.includes(NONE) ? null : rest.filter(isRule),
    filtersBridges: rest.includes(FILTERS_BRIDGES),
  };
}

/** Applies lines of `iptables-restore`, all those of a family or none. Resolves with false if there were none. */
export async function changeFirewall(run: RunOnHost, changes: Record<Family, readonly string[]>): Promise<boolean> {
  const scripts = ([4, 6] as const).flatMap((family) => (changes[family].length === 0 ? [] : restore(family, changes)));
  if (scripts.length === 0) return false;
  await run(['set -e', ...scripts].join('\n'));
  return true;
}

function restore(family: Family, changes: Record<Family, readonly string[]>): string {
  const input = ['*filter', ...changes[family], 'COMMIT'].join('\n');
  return `${RESTORE[family]} -w ${WAIT_SECONDS} --noflush <<'RULES'\n${input}\nRULES`;
}

/** Runs a script with `sh` and resolves with what it prints. Rejects with what it prints on stderr. */
export type RunOnHost = (script: string) => Promise<string>;

const execute = promisify(execFile);
const PATH = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin';
const TIMEOUT_MS = 30_000;
/** Links only: the programs are those of the machine, mounted at /host. */
const IMAGE = 'podyard/host-programs:1';
const LINKS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'usr', 'nix'];
const LABEL = 'podyard.host-command';

export const runDirectly: RunOnHost = async (script) => {
  try {
    return (await execute('/bin/sh', ['-c', `${PATH}\n${script}`], { timeout: TIMEOUT_MS })).stdout;
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(stderr.trim() || messageOf(error));
  }
};

/** Returns a runner that uses a container per script, and the image for it, made when it is missing. */
export function runInContainer(engine: Engine): RunOnHost {
  return async (script) => {
    const id = await createContainer(engine, script).catch(async (error) => {
      if (!isRefusal(error, 404)) throw error;
      await importLinks(engine);
      return createContainer(engine, script);
    });
    try {
      await engine.json({ method: 'POST', path: `/containers/${id}/start` });
      const waited = { method: 'POST', path: `/containers/${id}/wait`, timeoutMs: TIMEOUT_MS } as const;
      const { StatusCode } = await engine.json<{ StatusCode: number }>(waited);
      const output = await readOutput(engine, id);
      if (StatusCode === 0) return output;
      throw new Error(output.trim() || `exit code ${StatusCode}`);
    } finally {
      await engine.json({ method: 'DELETE', path: `/containers/${id}`, query: { force: true } }).catch(() => {});
    }
  };
}

async function createContainer(engine: Engine, script: string): Promise<string> {
  const body = {
    Image: IMAGE,
    Entrypoint: ['/bin/sh', '-c', `${PATH}\n${script}`],
    Labels: { [LABEL]: 'true' },
    HostConfig: {
      NetworkMode: 'host',
      UsernsMode: 'host',
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN', 'NET_RAW'],
      SecurityOpt: ['no-new-privileges:true', 'label=disable'],
      // /run has the lock that all programs which change these rules share.
      Binds: ['/:/host:ro', '/run:/run'],
    },
  };
  const query = { name: `podyard-host-command-${newId<string>(8)}` };
  const { Id } = await engine.json<{ Id: string }>({ method: 'POST', path: '/containers/create', query, body });
  return Id;
}

async function importLinks(engine: Engine): Promise<void> {
  const links = LINKS.map((name) => ({ path: name, linksTo: `/host/${name}` }));
  const alternatives = { path: 'etc/alternatives', linksTo: '/host/etc/alternatives' };
  await importImage(engine, IMAGE, [...links, { path: 'etc/' }, alternatives]);
}

async function readOutput(engine: Engine, id: string): Promise<string> {
  const lines: string[] = [];
  const { signal } = new AbortController();
  for await (const { line } of readContainerLogs(engine, id, { follow: false, signal })) lines.push(line);
  return lines.join('\n');
}

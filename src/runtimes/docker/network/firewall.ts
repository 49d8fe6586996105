import type { Family } from './egress-rules.ts';
import type { RunOnHost } from './host-commands.ts';

/** The rules of the `filter` table, as `iptables -S` prints them. */
export interface FirewallRules {
  4: readonly string[];
  /** Null where the machine has no ip6tables. */
  6: readonly string[] | null;
}

const WAIT_SECONDS = 10;
const BOUNDARY = '# IPv6';
const NONE = '# none';
const READ = `iptables -w ${WAIT_SECONDS} -S && echo '${BOUNDARY}' && { ip6tables -w ${WAIT_SECONDS} -S 2>/dev/null || echo '${NONE}'; }`;
const RESTORE: Record<Family, string> = { 4: 'iptables-restore', 6: 'ip6tables-restore' };

/** Rejects with the machine's own words. */
export async function readFirewall(run: RunOnHost): Promise<FirewallRules> {
  const lines = (await run(READ)).split('\n').map((line) => line.trim());
  const boundary = lines.indexOf(BOUNDARY);
  if (boundary === -1) throw new Error(`iptables printed something unexpected: ${lines[0] ?? ''}`);
  const isRule = (line: string) => line.startsWith('-');
  const rest = lines.slice(boundary + 1);
  return { 4: lines.slice(0, boundary).filter(isRule), 6: rest.includes(NONE) ? null : rest.filter(isRule) };
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

/** Tables of limits and quotas, and how they are changed. */
import { parseMemory } from '../../config/parse-setting.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { LimitChanges } from '../../domain/quotas/limit-store.ts';
import { effectiveLimits, LIMIT_NAMES, type LimitName, type OwnLimits } from '../../domain/quotas/limits.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, Screen } from '../shared/cli-pieces.ts';
import { formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { AccessSide } from './access-side.ts';

type ShownLimits = Pick<Schemas['UserLimits'], 'limits' | 'own' | 'usage' | 'quotas'>;

/** Changes the limits of a user, or of all users without their own (`name` undefined), and prints them. */
export async function limitUser(
  side: AccessSide,
  { name, changes, json }: { name: string | undefined; changes: readonly string[]; json?: boolean },
  output: CliOutput,
): Promise<void> {
  const parsed = parseChanges(changes);
  const id = name === undefined ? null : (await side.findUser(name)).userId;
  if (changes.length > 0) await side.updateLimits(id, parsed);
  const shown = await side.readLimits(id);
  if (json) output.print(jsonText(shown));
  else if ('usage' in shown) output.print(formatUserLimits(shown, output.screen));
  else output.print(formatDefaults(shown.own, output.screen));
}

function formatDefaults(own: OwnLimits, screen: Screen | undefined): string {
  const limits = effectiveLimits({}, own);
  return formatTable<LimitName>(
    [
      ['LIMIT', (name) => name],
      ['ALLOWS', (name) => limitText(name, limits[name])],
      ['SET', (name) => (name in own ? 'yes' : 'built in')],
    ],
    LIMIT_NAMES,
    screen,
  );
}

/** Parses `workers=50 logBytesPerDay=2GiB gpus=unlimited pods=default`. Throws a sentence with what is allowed. */
function parseChanges(changes: readonly string[]): LimitChanges {
  return Object.fromEntries(
    changes.map((change) => {
      const [name, value, ...more] = change.split('=');
      const known = LIMIT_NAMES.find((candidate) => candidate === name);
      if (!known) throw new UsageError(`there is no limit '${name}', but: ${LIMIT_NAMES.join(', ')}`);
      if (value === undefined || more.length > 0) throw new UsageError(`'${change}' must be like ${known}=50`);
      return [known, parseValue(known, value)];
    }),
  );
}

function parseValue(name: LimitName, text: string): number | null | 'DEFAULT' {
  if (text === 'default') return 'DEFAULT';
  if (text === 'unlimited' || text === 'none') return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (!name.toLowerCase().includes('bytes')) {
    throw new UsageError(`${name} is '${text}', but must be a whole number, unlimited, none or default`);
  }
  const size = parseMemory(name, text);
  if ('share' in size) throw new UsageError(`${name} is '${text}', but must be a size like 8GiB, unlimited or default`);
  return size.bytes;
}

const USED: Partial<Record<LimitName, (of: ShownLimits) => number>> = {
  endpoints: ({ usage }) => usage.endpoints,
  pods: ({ usage }) => usage.pods,
  workers: ({ usage }) => usage.workers,
  gpus: ({ usage }) => usage.gpus,
  queuedJobs: ({ usage }) => usage.queuedJobs,
  queuedBytes: ({ usage }) => usage.queuedBytes,
  logBytesPerDay: ({ usage }) => usage.logBytesToday,
  workerQuota: ({ quotas }) => quotas.workers.used,
  gpuQuota: ({ quotas }) => quotas.gpus.used,
};

const BORROWED: Partial<Record<LimitName, (of: ShownLimits) => number>> = {
  workerQuota: ({ quotas }) => quotas.workers.borrowed,
  gpuQuota: ({ quotas }) => quotas.gpus.borrowed,
};

/** Returns a table of a user's limits and quotas, with their use. */
export function formatUserLimits(shown: ShownLimits, screen?: Screen): string {
  return formatTable<LimitName>(
    [
      ['LIMIT', (name) => name],
      ['ALLOWS', (name) => limitText(name, shown.limits[name])],
      ['USED', (name) => USED[name]?.(shown)],
      ['BORROWED', (name) => BORROWED[name]?.(shown)],
      ['SET FOR', (name) => (name in shown.own ? 'user' : 'all users')],
    ],
    LIMIT_NAMES,
    screen,
  );
}

/** Returns a limit as text. */
function limitText(name: LimitName, value: number | null): string {
  if (value !== null) return String(value);
  return isQuota(name) ? 'none' : 'unlimited';
}

/** Returns a use beside what is allowed. */
export function useOf(used: number, limit: number | null): string {
  return limit === null ? String(used) : `${used}/${limit}`;
}

function isQuota(name: LimitName): boolean {
  return name === 'workerQuota' || name === 'gpuQuota';
}

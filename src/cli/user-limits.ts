import { parseMemory } from '../core/parse-setting.ts';
import { getUserByName } from '../domain/access/users.ts';
import type { Context } from '../domain/context.ts';
import { type LimitChanges, readSetLimits } from '../domain/quotas/limit-store.ts';
import { effectiveLimits, LIMIT_NAMES, type LimitName, type OwnLimits } from '../domain/quotas/limits.ts';
import { updateLimits } from '../domain/quotas/update-limits.ts';
import { getUserLimits } from '../domain/quotas/user-limits.ts';
import type { CliOutput } from './cli-pieces.ts';
import { formatUserLimits, limitText } from './limit-table.ts';
import { formatTable } from './table.ts';

/** Changes the limits of a user, or of all users without their own (`name` undefined), and prints them. */
export async function limitOneUser(
  context: Context,
  { name, changes }: { name: string | undefined; changes: readonly string[] },
  output: CliOutput,
): Promise<void> {
  const parsed = parseChanges(changes);
  const user = name === undefined ? null : await getUserByName(context.pool, name);
  if (changes.length > 0) await updateLimits(context, user?.id ?? null, parsed);
  if (user) output.print(formatUserLimits(await getUserLimits(context.pool, user.id)));
  else output.print(formatDefaults((await readSetLimits(context.pool, [])).installation));
}

function formatDefaults(own: OwnLimits): string {
  const limits = effectiveLimits({}, own);
  return formatTable<LimitName>(
    [
      ['LIMIT', (name) => name],
      ['ALLOWS', (name) => limitText(name, limits[name])],
      ['SET', (name) => (name in own ? 'yes' : 'built in')],
    ],
    LIMIT_NAMES,
  );
}

/** Parses `workers=50 logBytesPerDay=2GiB gpus=unlimited pods=default`. Throws a sentence with what is allowed. */
export function parseChanges(changes: readonly string[]): LimitChanges {
  return Object.fromEntries(
    changes.map((change) => {
      const [name, value, ...more] = change.split('=');
      const known = LIMIT_NAMES.find((candidate) => candidate === name);
      if (!known) throw new Error(`there is no limit '${name}', but: ${LIMIT_NAMES.join(', ')}`);
      if (value === undefined || more.length > 0) throw new Error(`'${change}' must be like ${known}=50`);
      return [known, parseValue(known, value)];
    }),
  );
}

function parseValue(name: LimitName, text: string): number | null | 'DEFAULT' {
  if (text === 'default') return 'DEFAULT';
  if (text === 'unlimited' || text === 'none') return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (!name.toLowerCase().includes('bytes')) {
    throw new Error(`${name} is '${text}', but must be a whole number, unlimited, none or default`);
  }
  const size = parseMemory(name, text);
  if ('share' in size) throw new Error(`${name} is '${text}', but must be a size like 8GiB, unlimited or default`);
  return size.bytes;
}

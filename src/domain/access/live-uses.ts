import type { Db } from '../../db/pool.ts';
import { MEMBERSHIP_ENDED } from './key-watch.ts';
import { OPERATOR_ACTIONS } from './roles.ts';

/** Returns those of `ids`, of keys or of sessions, that are valid, with their end in ms since 1970. */
export type FindLive = (db: Db, ids: readonly string[]) => Promise<Map<string, number>>;

/**
 * Returns those of `uses` (`useIdOf`) whose key or session is valid, with its end in ms since 1970; `MEMBERSHIP_ENDED` where its person no
 * longer acts for the account as they did. Served by the primary keys.
 */
export async function findLiveUses(db: Db, uses: readonly string[], findLive: FindLive): Promise<Map<string, number>> {
  const parts = uses.map((use) => [use, ...use.split(/[@:]/)] as [string, string, ...string[]]);
  const ends = await findLive(db, [...new Set(parts.map(([, id]) => id))]);
  const shared = parts.filter(([, , accountId]) => accountId !== undefined);
  const acting = shared.length === 0 ? new Set() : await findActing(db, shared);
  return new Map(
    parts.flatMap(([use, id, accountId]) => {
      const endsMs = ends.get(id);
      if (endsMs === undefined) return [];
      return [[use, accountId === undefined || acting.has(use) ? endsMs : MEMBERSHIP_ENDED] as const];
    }),
  );
}

/** Returns the uses whose persons still have the role that they act with. Served by the primary keys. */
async function findActing(db: Db, uses: readonly string[][]): Promise<Set<string>> {
  const { rows } = await db.query<{ use: string }>({
    name: 'uses-live',
    text: `select w.use from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as w (use, account_id, person_id, role)
           where exists (select from team_members m join users t on t.id = m.team_id
                         where m.team_id = w.account_id and m.user_id = w.person_id and m.role = w.role and t.suspended_at is null)
              or w.role = 'AUDITOR' and exists (select from users p where p.id = w.person_id and p.role = any($5::text[]))`,
    values: [...[0, 2, 3, 4].map((at) => uses.map((parts) => parts[at])), OPERATOR_ACTIONS.readAccounts],
  });
  return new Set(rows.map(({ use }) => use));
}

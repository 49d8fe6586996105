import { BoundedMap } from '../../core/bounded-map.ts';
import { type Clock, isAhead } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';
import { databaseFailure } from '../../db/database-fault.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from './actor.ts';
import { type ActingRole, OPERATOR_ACTIONS, type Role, type TeamRole } from './roles.ts';

/** As in the KeyRing: the longest that a change is unknown here if its hint is lost. */
const TTL_MS = 10_000;
const MAX_ENTRIES = 10_000;

export interface Membership {
  readonly teamId: UserId;
  readonly name: string;
  readonly role: TeamRole;
  readonly isSuspended: boolean;
}

/** A user with their teams. */
interface Known {
  readonly name: string;
  readonly mayReadAll: boolean;
  readonly teams: ReadonlyMap<UserId, Membership>;
  readonly untilMs: number;
}

const NO_ACCOUNT = { name: '', mayReadAll: false, teams: new Map<UserId, Membership>() };

/**
 * Resolves an actor to one acting for a team. Memberships come from a cache where possible; a hint about a user or team clears it, and no
 * entry outlives `TTL_MS`.
 */
export class TeamRing {
  readonly #deps: { pool: Db; clock: Clock };
  readonly #known = new BoundedMap<UserId, Known>(MAX_ENTRIES);
  readonly #unsubscribe: () => void;
  #generation = 0;

  constructor(deps: { pool: Db; bus: Pick<Bus, 'subscribe'>; clock: Clock }) {
    this.#deps = deps;
    this.#unsubscribe = deps.bus.subscribe('user', () => this.#forget());
  }

  close(): void {
    this.#unsubscribe();
    this.#forget();
  }

  /**
   * Returns the actor for what a request's header names: the same without one, and for their own account. Throws the same `forbidden`
   * for a team that is not theirs and for one that does not exist, and another for a team of theirs that is suspended.
   */
  actFor(actor: Actor, header: string | string[] | undefined): Actor | Promise<Actor> {
    if (header === undefined || header === '' || header === actor.userId) return actor;
    return this.#actForNamed(actor, String(header));
  }

  /** Returns the actor for an account that the caller knows by its id. Throws as `actFor`. */
  async actAs(actor: Actor, accountId: UserId): Promise<Actor> {
    const team = (this.#recall(actor.userId) ?? (await this.#read(actor.userId))).teams.get(accountId);
    if (!team) throw notYours();
    return asMember(actor, team);
  }

  /** Returns the user's teams if they are cached. */
  peek(userId: UserId): ReadonlyMap<UserId, Membership> | undefined {
    return this.#recall(userId)?.teams;
  }

  async teamsOf(userId: UserId): Promise<ReadonlyMap<UserId, Membership>> {
    return (this.#recall(userId) ?? (await this.#read(userId))).teams;
  }

  async #actForNamed(actor: Actor, wanted: string): Promise<Actor> {
    const person = this.#recall(actor.userId) ?? (await this.#read(actor.userId));
    const team = person.teams.get(wanted as UserId) ?? [...person.teams.values()].find(({ name }) => name === wanted);
    if (team) return asMember(actor, team);
    if (wanted === person.name) return actor;
    const accountId = person.mayReadAll ? await this.#findAccount(wanted) : undefined;
    if (accountId === undefined) throw notYours();
    return accountId === actor.userId ? actor : acting(actor, accountId, 'AUDITOR');
  }

  async #findAccount(idOrName: string): Promise<UserId | undefined> {
    const { rows } = await this.#deps.pool.query<{ id: UserId }>({
      name: 'account-by-id-or-name',
      text: 'select id from users where id = $1 or name = $1 order by id = $1 desc limit 1',
      values: [idOrName],
    });
    return rows[0]?.id;
  }

  #recall(userId: UserId): Known | undefined {
    const known = this.#known.get(userId);
    return known !== undefined && isAhead(known.untilMs, this.#deps.clock.now(), TTL_MS) ? known : undefined;
  }

  /** A read that began before a hint is used once and not cached. */
  async #read(userId: UserId): Promise<Known> {
    const generation = this.#generation;
    const found = await readTeams(this.#deps.pool, userId).catch((cause) => {
      throw databaseFailure(cause) ?? cause;
    });
    const known = { ...(found ?? NO_ACCOUNT), untilMs: this.#deps.clock.now() + TTL_MS };
    if (generation === this.#generation) this.#known.set(userId, known);
    return known;
  }

  #forget(): void {
    this.#generation += 1;
    this.#known.clear();
  }
}

/** Served by the primary key of users and `team_members_by_user`. A suspended person has no teams. */
async function readTeams(db: Db, userId: UserId): Promise<Omit<Known, 'untilMs'> | undefined> {
  const { rows } = await db.query<{ name: string; role: Role; teams: Membership[] }>({
    name: 'teams-of',
    text: `select u.name, u.role,
             coalesce((
               select json_agg(json_build_object('teamId', t.id, 'name', t.name, 'role', m.role,
                   'isSuspended', t.suspended_at is not null) order by t.id)
               from team_members m join users t on t.id = m.team_id where m.user_id = u.id), '[]') as teams
           from users u where u.id = $1 and u.suspended_at is null`,
    values: [userId],
  });
  const [row] = rows;
  if (!row) return undefined;
  const readers: readonly Role[] = OPERATOR_ACTIONS.readAccounts;
  return {
    name: row.name,
    mayReadAll: readers.includes(row.role),
    teams: new Map(row.teams.map((team) => [team.teamId, team])),
  };
}

function asMember(actor: Actor, { teamId, role, name, isSuspended }: Membership): Actor {
  if (isSuspended) throw new Failure('forbidden', `the team '${name}' is suspended: ask an admin of this server`);
  return acting(actor, teamId, role);
}

function acting(actor: Actor, userId: UserId, actingRole: ActingRole): Actor {
  return { ...actor, userId, personId: actor.personId ?? actor.userId, actingRole };
}

/** The same for a team that does not exist, so that non-members learn nothing. */
function notYours(): Failure {
  return new Failure('forbidden', 'access denied: you are in no such team');
}

import { UsageError } from '../core/usage-error.ts';
import { optional } from './setting.ts';

/** A user and a group of the system, by number. */
export interface UserIds {
  uid: number;
  gid: number;
}

/** The user that a process started as root becomes before anything else (compose/process/become-user.ts); null: it stays root. */
export const USER = optional({
  variable: 'PODYARD_USER',
  shownDefault: 'none',
  parse: parseUser,
  page: 'With containers: user and group that a server started as root becomes, `1000:1000`, unless somebody else has the data directory: [containers](operations.md#run-in-containers)',
});

function parseUser(name: string, text: string): UserIds {
  const [, uid, gid = uid] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(text) ?? [];
  if (uid === undefined)
    throw new UsageError(`${name} is '${text}', but must be numbers of a user and a group: 1000:1000`);
  return { uid: Number(uid), gid: Number(gid) };
}

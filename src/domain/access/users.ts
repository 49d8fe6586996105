import { Failure } from '../../core/errors.ts';
import { newId, type UserId } from '../../core/ids.ts';
import { type Db, isUniqueViolation } from '../../db/pool.ts';

export interface User {
  id: UserId;
  name: string;
  email: string | null;
  createdAt: Date;
}

const COLUMNS = 'id, name, email, created_at as "createdAt"';

/** Throws `conflict` if the name is taken. */
export async function createUser(db: Db, input: { name: string; email: string | null }): Promise<User> {
  if (input.name.trim() === '') throw new Failure('badRequest', 'name: must not be blank');
  const result = await db
    .query<User>(`insert into users (id, name, email) values ($1, $2, $3) returning ${COLUMNS}`, [
      newId<UserId>(),
      input.name,
      input.email,
    ])
    .catch((cause) => {
      if (!isUniqueViolation(cause)) throw cause;
      throw new Failure('conflict', `there is already a user named '${input.name}'`, { cause });
    });
  return result.rows[0]!;
}

export async function countUsers(db: Db): Promise<number> {
  return (await db.query<{ users: number }>('select count(*)::int8 as users from users')).rows[0]!.users;
}

/** Returns all users, oldest first. */
export async function listUsers(db: Db): Promise<User[]> {
  return (await db.query<User>(`select ${COLUMNS} from users order by created_at, id`)).rows;
}

export async function findUser(db: Db, id: UserId): Promise<User | undefined> {
  return (await db.query<User>(`select ${COLUMNS} from users where id = $1`, [id])).rows[0];
}

export async function findUserByName(db: Db, name: string): Promise<User | undefined> {
  return (await db.query<User>(`select ${COLUMNS} from users where name = $1`, [name])).rows[0];
}

/** Throws an error that the command line prints as it is. */
export async function getUserByName(db: Db, name: string): Promise<User> {
  const user = await findUserByName(db, name);
  if (!user) throw new Error(`there is no user named '${name}'; \`podyard users list\` shows all`);
  return user;
}

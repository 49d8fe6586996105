import { notFound } from '../../core/errors.ts';
import type { DelegationId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Delegation } from './delegation.ts';

const COLUMNS = `id, user_id as "userId", name, partition, aws_region as "awsRegion", aws_account as "awsAccount",
  repository, tag, created_at as "createdAt"`;

/** Returns the user's delegations, oldest first. */
export async function listDelegationRows(db: Db, userId: UserId): Promise<Delegation[]> {
  const result = await db.query<Delegation>(
    `select ${COLUMNS} from registry_delegations where user_id = $1 order by created_at, id`,
    [userId],
  );
  return result.rows;
}

/** Returns the delegation with `createdAt`, which the database sets. */
export async function insertDelegationRow(db: Db, delegation: Omit<Delegation, 'createdAt'>): Promise<Delegation> {
  const { id, userId, name, partition, awsRegion, awsAccount, repository, tag } = delegation;
  const result = await db.query<Delegation>(
    `insert into registry_delegations (id, user_id, name, partition, aws_region, aws_account, repository, tag)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${COLUMNS}`,
    [id, userId, name, partition, awsRegion, awsAccount, repository, tag],
  );
  return result.rows[0]!;
}

/** Throws `notFound` if the user has no such delegation. */
export async function deleteDelegationRow(db: Db, userId: UserId, id: DelegationId): Promise<void> {
  const result = await db.query('delete from registry_delegations where id = $1 and user_id = $2', [id, userId]);
  if (result.rowCount === 0) throw notFound('Delegation');
}

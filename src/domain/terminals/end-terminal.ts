import { Failure, notFound } from '../../core/errors.ts';
import type { TerminalId } from '../../core/ids.ts';
import type { Actor } from '../access/actor.ts';
import { checkOperator } from '../access/check-operator.ts';
import type { Context } from '../context.ts';
import { updateSessionEndWanted } from './terminal-store.ts';

/** Ends a session: one of the user's own, or for an admin anybody's. Throws `notFound`. */
export async function endTerminal({ pool, bus }: Context, { userId }: Actor, id: TerminalId): Promise<void> {
  const isAdmin = await checkOperator(pool, userId).then(
    () => true,
    (error) => {
      if (error instanceof Failure && error.kind === 'forbidden') return false;
      throw error;
    },
  );
  if (!(await updateSessionEndWanted(pool, isAdmin ? null : userId, id))) throw notFound('Terminal session');
  bus.publish('terminal', id);
}

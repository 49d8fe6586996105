import { notFound } from '../../core/errors.ts';
import type { TerminalId } from '../../core/ids.ts';
import { isOperator } from '../access/check-operator.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { updateSessionEndWanted } from './terminal-store.ts';

/** Ends a session of the user's own, or, for an admin, of any user. Throws `notFound`. */
export const endTerminal: Operation<Tx, { id: TerminalId }, void> = {
  name: 'terminal.end',
  permission: PERMISSIONS.endTerminal,
  async run({ db, actor: { userId }, bus }, { id }) {
    const isAdmin = await isOperator(db, userId, 'writeUsers');
    if (!(await updateSessionEndWanted(db, isAdmin ? null : userId, id))) throw notFound('Terminal session');
    bus.publish('terminal', id);
  },
  subject: ({ id }) => id,
};

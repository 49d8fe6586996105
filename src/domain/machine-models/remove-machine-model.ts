import { Failure, notFound } from '../../core/errors.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { markUnwanted } from './machine-model-store.ts';

/**
 * Has a model leave the machine within moments; a start that needs it fetches it again. Throws `notFound`, and `badRequest` while
 * a worker sees it. For admins: it may be everybody's.
 */
export const removeMachineModel: Operation<Tx<Admin>, { id: string }, void> = {
  name: 'model.remove',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, { id }) {
    const found = await markUnwanted(db, id);
    if (!found) throw notFound('Model');
    if (found.isHeld) {
      throw new Failure('badRequest', 'a worker uses this model: it can be removed once no worker does', {
        isClash: true,
      });
    }
    bus.publish('model', id);
  },
  subject: ({ id }) => id,
};

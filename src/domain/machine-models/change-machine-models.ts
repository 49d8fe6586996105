/** Operations of admins on the models of the machine, which may be everybody's. */
import { Failure, notFound } from '../../core/errors.ts';
import { bytesText } from '../../core/text/bytes-text.ts';
import type { Actor, Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import type { ResolvedModel } from '../models/resolve-models.ts';
import {
  deleteModelOrder,
  findModelRoom,
  keptBytesWith,
  listMachineModels,
  type MachineModel,
  markKept,
  markUnwanted,
  orderModel,
} from './machine-model-store.ts';

type FetchInput = { model: Pick<ResolvedModel, 'id' | 'name' | 'bytes' | 'tokenSecret'>; isKept: boolean };

/**
 * Has a model fetched before a start needs it, with the actor's token, and returns it. One that is there stays as it is. Throws
 * `badRequest` for one that does not fit beside those that are kept.
 */
export const fetchMachineModel: Operation<Tx<Actor>, FetchInput, MachineModel> = {
  name: 'model.fetch',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus, actor }, { model: { id, name, bytes, tokenSecret }, isKept }) {
    await checkRoom(db, { id, name, bytes });
    await orderModel(db, id, { wantedBy: actor.userId, tokenSecret, isKept });
    bus.publish('model', id);
    return getMachineModel(db, id);
  },
  subject: ({ model: { id } }) => id,
  target: ({ model: { id } }) => id,
};

/** Keeps a model, or lets it leave as others do. Throws `notFound`, and `badRequest` for one that does not fit beside those that are kept. */
export const updateMachineModel: Operation<Tx<Admin>, { id: string; isKept: boolean }, MachineModel> = {
  name: 'model.update',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, { id, isKept }) {
    const model = await getMachineModel(db, id);
    if (isKept && !model.isKept) await checkRoom(db, model);
    await markKept(db, id, isKept);
    bus.publish('model', id);
    return { ...model, isKept };
  },
  subject: ({ id }) => id,
};

/**
 * Has a model leave the machine within moments, or ends its fetch; a start that needs it fetches it again. Throws `notFound`, and
 * `badRequest` while a worker sees it or waits for it.
 */
export const removeMachineModel: Operation<Tx<Admin>, { id: string }, void> = {
  name: 'model.remove',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, { id }) {
    const model = await getMachineModel(db, id);
    if (model.isHeld) throw inUse('a worker uses this model: it can be removed once no worker does');
    if (model.fetchedAt !== null) await markUnwanted(db, id);
    else if (model.isWanted) await deleteModelOrder(db, id);
    else throw inUse('a worker waits for this model: it can be removed once no worker does');
    bus.publish('model', id);
  },
  subject: ({ id }) => id,
};

/** Throws `notFound`. */
async function getMachineModel(db: Tx['db'], id: string): Promise<MachineModel> {
  const [model] = await listMachineModels(db, null, id);
  if (!model) throw notFound('Model');
  return model;
}

async function checkRoom(
  db: Tx['db'],
  { id, name, bytes }: { id: string; name: string; bytes: number },
): Promise<void> {
  const room = await findModelRoom(db, true);
  if (!room) throw new Failure('badRequest', 'no machine of this installation stores models');
  const budget = bytesText(room.budgetBytes);
  if (bytes > room.budgetBytes) {
    const text = `the model '${name}' has ${bytesText(bytes)}, but models may take ${budget} on this machine (--models-gb)`;
    throw new Failure('badRequest', text);
  }
  const keptBytes = await keptBytesWith(db, id);
  if (keptBytes <= room.budgetBytes) return;
  const text = `pinned models and '${name}' have ${bytesText(keptBytes)}, but models may take ${budget} on this machine (--models-gb): unpin one`;
  throw new Failure('badRequest', text, { isClash: true });
}

function inUse(text: string): Failure {
  return new Failure('badRequest', text, { isClash: true });
}

import { notFound } from '../../core/errors.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type EndpointSelection, listEndpointFacts } from './endpoint-facts.ts';
import { type EndpointState, endpointState } from './endpoint-state.ts';
import { getEndpointRow } from './endpoint-store.ts';

/** Returns the states of these endpoints. */
export async function listEndpointStates(
  db: Db,
  of: EndpointSelection,
  now: number,
): Promise<Map<EndpointId, EndpointState>> {
  const facts = await listEndpointFacts(db, of);
  return new Map([...facts].map(([id, one]) => [id, endpointState(one, now)]));
}

/** Returns the state of the user's endpoint. Throws `notFound`. */
export async function getEndpointState(db: Db, userId: UserId, id: EndpointId, now: number): Promise<EndpointState> {
  await getEndpointRow(db, userId, id);
  const state = (await listEndpointStates(db, { ids: [id] }, now)).get(id);
  if (!state) throw notFound('Endpoint'); // deleted in between
  return state;
}

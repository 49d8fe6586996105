import { Failure } from '../../core/errors.ts';
import { type Actor, isPermitted } from './actor.ts';
import { type Area, formatScope } from './scopes.ts';

/** Throws `forbidden`, with the missing scope, unless the key may read a record of an area. `thing`: for which use, as the message begins. */
export function requireRead(actor: Actor, area: Area, resourceId: string | undefined, thing: string): void {
  if (isPermitted(actor, { area, access: 'read', ...(resourceId === undefined ? {} : { resourceId }) })) return;
  const scope = formatScope({ kind: 'area', area, resourceId: null, access: 'read' });
  throw new Failure('forbidden', `access denied: ${thing} needs the scope ${scope}`);
}

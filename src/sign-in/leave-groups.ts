import type { UserId } from '../core/ids.ts';
import { PODYARD } from '../domain/access/actor.ts';
import { change } from '../domain/change.ts';
import { leaveGroups } from '../domain/sessions/join-identity.ts';
import { roleWithoutGroups } from './claims.ts';
import type { Provider } from './read-providers.ts';
import type { SignInDeps } from './sign-in-deps.ts';

/** Takes from a person who may no longer sign in what their groups gave. Their keys stay, within their remaining rights. */
export async function takeGroupsAway(
  deps: Pick<SignInDeps, 'pool' | 'bus'>,
  provider: Provider,
  userId: UserId,
): Promise<void> {
  const role = roleWithoutGroups(provider);
  await change(deps, PODYARD, leaveGroups, { id: userId, issuer: provider.issuer, role });
}

import { Failure } from '../../core/errors.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import { countTry, forgetTries, uncountTry } from '../../domain/local-accounts/try-store.ts';
import type { SignInDeps } from '../sign-in-deps.ts';

/** Wrong passwords within a quarter of an hour: for one account from all addresses, and from one address for all accounts. */
export const MAX_OF_ACCOUNT = 10;
export const MAX_OF_NETWORK = 50;

/**
 * Counts a try before it is checked, so that many at the same moment gain nothing. `account`: as it was typed; null for a passkey, which cannot
 * be guessed. Throws `tooManyRequests`, whether the account exists or not. Call the result when it was right: the try then does not count.
 */
export async function limitTries(
  { pool }: Pick<SignInDeps, 'pool'>,
  { account, network }: { account: string | null; network: string },
): Promise<() => Promise<void>> {
  const ofNetwork = hashSecret(`network ${network}`);
  const ofAccount = account === null ? null : hashSecret(`account ${account.trim().toLowerCase()}`);
  await count(pool, ofNetwork, MAX_OF_NETWORK);
  if (ofAccount !== null) await count(pool, ofAccount, MAX_OF_ACCOUNT);
  return async () => {
    await uncountTry(pool, ofNetwork);
    if (ofAccount !== null) await forgetTries(pool, ofAccount);
  };
}

async function count(pool: SignInDeps['pool'], key: Buffer, most: number): Promise<void> {
  const { tries, restartsInSeconds } = await countTry(pool, key);
  if (tries <= most) return;
  throw new Failure('tooManyRequests', 'too many failed sign-ins: wait, or sign in another way', {
    retryAfterSeconds: restartsInSeconds,
  });
}

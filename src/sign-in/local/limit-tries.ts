import { Failure } from '../../core/errors.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import { countTry, forgetTries, uncountTry } from '../../domain/local-accounts/try-store.ts';
import type { SignInDeps } from '../sign-in-deps.ts';

/** Wrong passwords within a quarter of an hour: for one account from all addresses, and from one address for all accounts. */
export const MAX_OF_ACCOUNT = 10;
export const MAX_OF_NETWORK = 50;

/**
 * Counts a try with a password before it is checked, so that many at the same moment gain nothing. Throws `tooManyRequests`, whether the
 * account exists or not. Call the result when the password was right: the try then does not count.
 */
export async function limitTries(
  { pool }: Pick<SignInDeps, 'pool'>,
  { account, network }: { account: string; network: string },
): Promise<() => Promise<void>> {
  const ofNetwork = hashSecret(`network ${network}`);
  const ofAccount = hashSecret(`account ${account.trim().toLowerCase()}`);
  for (const [key, most] of [
    [ofNetwork, MAX_OF_NETWORK],
    [ofAccount, MAX_OF_ACCOUNT],
  ] as const) {
    const { tries, restartsInSeconds } = await countTry(pool, key);
    if (tries > most) throw tooMany(restartsInSeconds);
  }
  return async () => {
    await uncountTry(pool, [ofNetwork]);
    await forgetTries(pool, ofAccount);
  };
}

function tooMany(retryAfterSeconds: number): Failure {
  const minutes = Math.ceil(retryAfterSeconds / 60);
  return new Failure(
    'tooManyRequests',
    `Too many wrong passwords: try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, or sign in another way.`,
    { retryAfterSeconds },
  );
}

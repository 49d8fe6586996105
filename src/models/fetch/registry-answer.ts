import type { IncomingMessage } from 'node:http';
import { Failure } from '../../core/errors.ts';
import { basicOf, bearerOf, tokenServerOf } from '../../domain/images/registry-question.ts';
import type { OriginAccess } from './origin-access.ts';
import { discardBody, readSmallBody } from './read-small-body.ts';

type RegistryAccess = Extract<OriginAccess, { kind: 'registry' }>;

const MAX_TOKEN_BYTES = 2 ** 18;

/**
 * Returns the `Authorization` that a registry asked for; null: it wants a password, and there is none. The password goes to the registry, or to
 * the server that it names, with TLS unless the registry itself has none.
 */
export async function answerRegistry(
  { user, password }: RegistryAccess,
  { url, question }: { url: URL; question: string },
  get: (realm: URL, headers: Record<string, string>) => Promise<{ response: IncomingMessage }>,
): Promise<string | null> {
  const basic = user === '' ? null : basicOf({ username: user, password });
  if (/^basic\b/i.test(question)) return basic;
  const realm = tokenServerOf(question, { hasTls: url.protocol === 'https:' });
  if (realm === null) return null;
  if ('fault' in realm) throw new Failure('badGateway', `${url.host} ${realm.fault}`);
  const { response } = await get(realm, basic === null ? {} : { authorization: basic });
  if (response.statusCode !== 200) {
    discardBody(response);
    if (response.statusCode !== 401 && response.statusCode !== 403)
      throw new Error(`${realm.host} gives no token for ${url.host}: it answered with status ${response.statusCode}`);
    return null;
  }
  const bearer = bearerOf(await readSmallBody(response, MAX_TOKEN_BYTES));
  if (bearer !== null) return bearer;
  throw new Failure('badGateway', `${realm.host}, which ${url.host} names for tokens, does not give one`);
}

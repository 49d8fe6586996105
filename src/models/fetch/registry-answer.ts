/** How a registry asks who reads, and what it is answered: the token flow of the OCI distribution specification. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../core/errors.ts';
import type { OriginAccess } from './origin-access.ts';
import { readSmallBody } from './read-small-body.ts';

type RegistryAccess = Extract<OriginAccess, { kind: 'registry' }>;

const MAX_TOKEN_BYTES = 2 ** 18;
/** `realm="…",service="…"`, as RFC 9110 has them. */
const PARAMETER = /\b([a-z]+)="([^"]*)"/gi;

/**
 * Returns the `Authorization` that a registry asked for; null: it wants a password, and there is none. The password goes to the registry, or to
 * the server that it names, with TLS unless the registry itself has none.
 */
export async function answerRegistry(
  { user, password }: RegistryAccess,
  { url, question }: { url: URL; question: string },
  get: (realm: URL, headers: Record<string, string>) => Promise<{ response: IncomingMessage }>,
): Promise<string | null> {
  const basic = user === '' ? null : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  if (/^basic\b/i.test(question)) return basic;
  if (!/^bearer\b/i.test(question)) return null;
  const said = Object.fromEntries(
    [...question.matchAll(PARAMETER)].map(([, name, value]) => [name!.toLowerCase(), value!]),
  );
  if (!URL.canParse(said.realm ?? '')) throw new Failure('badGateway', `${url.host} names no server that gives tokens`);
  const realm = new URL(said.realm!);
  if (realm.protocol !== 'https:' && (url.protocol === 'https:' || realm.protocol !== 'http:'))
    throw new Failure('badGateway', `${url.host} names a server for tokens without TLS, which is not asked`);
  for (const name of ['service', 'scope']) if (said[name]) realm.searchParams.set(name, said[name]);
  const { response } = await get(realm, basic === null ? {} : { authorization: basic });
  if (response.statusCode !== 200) {
    response.resume();
    if (response.statusCode !== 401 && response.statusCode !== 403)
      throw new Error(`${realm.host} gives no token for ${url.host}: it answered with status ${response.statusCode}`);
    return null;
  }
  const body = await readSmallBody(response, MAX_TOKEN_BYTES);
  try {
    const { token, access_token } = JSON.parse(body) as { token?: unknown; access_token?: unknown };
    const given = token ?? access_token;
    if (typeof given === 'string' && /^[\x21-\x7e]+$/.test(given)) return `Bearer ${given}`;
  } catch {} // no JSON
  throw new Failure('badGateway', `${realm.host}, which ${url.host} names for tokens, does not give one`);
}

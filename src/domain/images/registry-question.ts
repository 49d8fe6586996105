/** How a registry asks for authentication, and who issues the token it requires: the token flow of the OCI distribution specification. */

/** `realm="…",service="…"`, as RFC 9110 has them. */
const PARAMETER = /\b([a-z]+)="([^"]*)"/gi;

/**
 * Returns the token server that a `WWW-Authenticate` names, or what is wrong with it, in words that follow the registry's name; null: the
 * registry requires no token. `hasTls`: of the registry; `scope`: instead of the one that it names.
 */
export function tokenServerOf(
  question: string,
  { hasTls, scope }: { hasTls: boolean; scope?: string },
): URL | { fault: string } | null {
  if (!/^bearer\b/i.test(question)) return null;
  const pairs = [...question.matchAll(PARAMETER)].map(([, name, value]) => [name!.toLowerCase(), value!]);
  const said: Record<string, string | undefined> = { ...Object.fromEntries(pairs), ...(scope && { scope }) };
  if (!URL.canParse(said.realm ?? '')) return { fault: 'names no server that gives tokens' };
  const realm = new URL(said.realm!);
  if (realm.protocol !== 'https:' && (hasTls || realm.protocol !== 'http:'))
    return { fault: 'names a server for tokens without TLS, which is not asked' };
  for (const name of ['service', 'scope']) if (said[name]) realm.searchParams.set(name, said[name]);
  return realm;
}

/** Returns the `Authorization` with the token that such a server gave; null: it gave none. */
export function bearerOf(body: string): string | null {
  try {
    const { token, access_token } = JSON.parse(body) as { token?: unknown; access_token?: unknown };
    const given = token ?? access_token;
    if (typeof given === 'string' && /^[\x21-\x7e]+$/.test(given)) return `Bearer ${given}`;
  } catch {} // no JSON
  return null;
}

export function basicOf({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
